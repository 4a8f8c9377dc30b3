import { Badge, type Tone } from "../parts/badge.js";

const tones: Readonly<Record<string, Tone>> = {
  received: "info",
  routed: "info",
  sent: "good",
  unrouted: "warn",
  error: "bad",
};

/** What a message has been through, and where it waits. */
export function Statuses({ of }: { readonly of: readonly string[] }) {
  return (
    <span class="badges">
      {of.map((status) => (
        <Badge key={status} tone={tones[status] ?? "quiet"}>
          {status}
        </Badge>
      ))}
    </span>
  );
}
