/** What the API tells of alerts. */

export const alertStates = ["pending", "firing", "acknowledged", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

export interface Alert {
  id: string;
  name: string;
  state: AlertState;
  severity: string;
  labels: Record<string, string>;
  value: number | null;
  condition: string;
  summary: string | null;
  active_since: number;
  fired_at: number | null;
  acknowledged_at: number | null;
  acknowledged_by: string | null;
  resolved_at: number | null;
  resolved_by: string | null;
  notified: { target: string; at: number; outcome: string }[];
}
