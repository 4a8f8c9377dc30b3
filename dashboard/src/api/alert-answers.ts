/** What the API tells of alerts and their rules. */

export const alertStates = ["pending", "firing", "acknowledged", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

export interface Notified {
  target: string;
  change: string;
  at: number;
  outcome: "waiting" | "sent" | "given_up";
  attempts: number;
  problem: string | null;
}

export interface Alert {
  id: string;
  name: string;
  state: AlertState;
  severity: string;
  labels: Record<string, string>;
  value: number | null;
  condition: string;
  summary: string;
  active_since: number;
  fired_at: number | null;
  acknowledged_at: number | null;
  acknowledged_by: string | null;
  resolved_at: number | null;
  resolved_by: string | null;
  notified: Notified[];
}

export interface AlertRule {
  name: string;
  state: "inactive" | "pending" | "firing" | "acknowledged";
  alerts: number;
  condition: string;
  for_seconds: number;
  severity: string;
  labels: Record<string, string>;
  summary: string;
  notify: string[];
  origin: "default" | "settings";
}

export interface TestedTargets {
  items: { target: string; outcome: "sent" | "failed"; problem: string | null }[];
}
