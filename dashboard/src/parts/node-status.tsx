import type { NodeStatus } from "../api/cluster.js";
import { Badge, type Tone } from "./badge.js";

const tones: Readonly<Record<NodeStatus | "forgotten", Tone>> = {
  active: "good",
  joining: "info",
  draining: "warn",
  dead: "bad",
  left: "quiet",
  forgotten: "quiet",
};

export function StatusBadge({ status }: { readonly status: NodeStatus | "forgotten" }) {
  return <Badge tone={tones[status]}>{status}</Badge>;
}
