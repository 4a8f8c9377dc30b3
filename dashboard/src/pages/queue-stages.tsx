import type { Stage } from "../api/queue-answers.js";
import { DepthLine } from "../charts/depth-line.js";
import { usePast } from "../charts/past.js";
import { hrefTo } from "../layout/route.js";
import { formatCount, formatDuration } from "../time/format.js";

const keyOf = ({ queue, stage }: Stage): string => `${queue}/${stage}`;

/** The queue of the message engine, whose stages follow each other; of others that is not known. */
const engine = "engine";
const engineStages = ["ingress", "routed", "outbound"];

const orderOf = ({ queue, stage }: Stage): number => (queue === engine ? engineStages.indexOf(stage) : 0);

/** The stages of each queue in a row, with their depth as it was since one began to look. */
export function StageFlow({
  stages,
  at,
}: {
  readonly stages: readonly Stage[] | undefined;
  readonly at: number | undefined;
}) {
  const past = usePast(
    (stages ?? []).map((stage) => [keyOf(stage), stage.depth] as const),
    at,
  );
  if (stages === undefined || stages.length === 0) return null;
  const queues = [...new Set(stages.map(({ queue }) => queue))];
  return (
    <>
      {queues.map((queue) => (
        <section key={queue} class={queue === engine ? "flow flow-on" : "flow"} aria-label={`Queue ${queue}`}>
          <h2>{queue}</h2>
          <ol>
            {stages
              .filter((stage) => stage.queue === queue)
              .toSorted((one, other) => orderOf(one) - orderOf(other))
              .map((stage) => (
                <StageCard key={keyOf(stage)} stage={stage} past={past(keyOf(stage))} />
              ))}
          </ol>
        </section>
      ))}
    </>
  );
}

function StageCard({ stage, past }: { readonly stage: Stage; readonly past: readonly number[] }) {
  const { queue, depth, lanes, blocked, paused, oldest_seconds: oldest } = stage;
  const tone = blocked > 0 ? "flow-bad" : paused > 0 ? "flow-warn" : "";
  return (
    <li class={tone}>
      <a href={hrefTo("/queue", [], { queue, stage: stage.stage })}>
        <span class="flow-stage">{stage.stage}</span>
        <span class="flow-depth">{formatCount(depth)}</span>
      </a>
      <DepthLine values={[...past, depth]} label={`Depth of ${stage.stage} since you began to look`} />
      <span class="flow-says">
        {formatCount(lanes)} {lanes === 1 ? "lane" : "lanes"}
        {oldest === null ? "" : ` · oldest ${formatDuration(oldest * 1000)}`}
        {blocked > 0 ? ` · ${formatCount(blocked)} blocked` : ""}
        {paused > 0 ? ` · ${formatCount(paused)} paused` : ""}
      </span>
    </li>
  );
}
