import type { ConnectionAnswer } from "../server/connection-routes.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatAgo } from "./elapsed.js";
import type { Tone } from "./paint.js";
import { type Column, renderTable } from "./table.js";

const stateTones: Readonly<Record<ConnectionAnswer["state"], Tone>> = {
  running: "good",
  starting: "warning",
  stopped: "warning",
  failed: "bad",
};

export function renderConnections(connections: readonly ConnectionAnswer[], look: TimedLook): readonly string[] {
  const { now, ...rest } = look;
  const columns: readonly Column<ConnectionAnswer>[] = [
    { title: "connection", cell: (one) => one.name, tone: () => "strong" },
    { title: "direction", cell: (one) => one.direction, whole: true },
    { title: "transport", cell: (one) => one.transport, whole: true, spare: true },
    { title: "state", cell: (one) => one.state, tone: (one) => stateTones[one.state], whole: true },
    { title: "open", cell: (one) => String(one.connections), align: "right", whole: true, spare: true },
    { title: "waiting", cell: (one) => String(one.waiting), align: "right", whole: true },
    { title: "received", cell: (one) => countOf(one, "inbound"), align: "right", whole: true },
    { title: "sent", cell: (one) => countOf(one, "outbound"), align: "right", whole: true },
    { title: "errors", cell: (one) => String(one.errors), align: "right", whole: true },
    { title: "since", cell: (one) => formatAgo(one.since, now), whole: true, spare: true },
    { title: "reason", cell: (one) => one.reason ?? "-" },
  ];
  return renderTable(columns, connections, rest);
}

/** An inbound receives and an outbound sends. Where nobody has put the counts together yet, 0 says nothing. */
function countOf({ direction, counts, counts_at: at }: ConnectionAnswer, of: ConnectionAnswer["direction"]): string {
  const count = of === "inbound" ? counts.received : counts.sent;
  return direction !== of || (at === null && count === 0) ? "-" : String(count);
}
