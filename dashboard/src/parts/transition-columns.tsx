import type { Transition } from "../api/cluster.js";
import { formatGap } from "../time/format.js";
import { kindOf, reasonInWords, toneOf } from "../timeline/reasons.js";
import { Badge } from "./badge.js";
import { NodeName } from "./node-name.js";
import type { Column } from "./table.js";
import { Time } from "./when.js";

/** A change of leadership as a row. */
export const transitionColumns: readonly Column<Transition>[] = [
  { title: "When", cell: ({ at }) => <Time at={at} precise /> },
  { title: "Role", cell: ({ role }) => role },
  { title: "What", cell: (line) => <Badge tone={toneOf(line)}>{kindOf(line)}</Badge> },
  { title: "Who", cell: (line) => <Hands line={line} /> },
  { title: "Epoch", align: "end", cell: ({ epoch }) => epoch },
  { title: "Gap", align: "end", cell: (line) => <GapLength line={line} /> },
  { title: "Why", wide: true, cell: ({ reason }) => <span title={reason}>{reasonInWords(reason)}</span> },
];

function Hands({ line }: { readonly line: Transition }) {
  if (line.event !== "elected") return <NodeName id={line.previous_node_id ?? line.node_id} />;
  if (line.previous_node_id === null) return <NodeName id={line.node_id} />;
  return (
    <span class="hands">
      <NodeName id={line.previous_node_id} /> → <NodeName id={line.node_id} />
    </span>
  );
}

/** The first election of a role ended no gap: nobody had been meant to lead. */
function GapLength({ line }: { readonly line: Transition }) {
  if (line.gap_seconds === null || line.reason === "first") return <span class="faint">–</span>;
  return <span class="num">{formatGap(line.gap_seconds * 1000)}</span>;
}
