import { version } from "../version.js";
import type { TransitionAnswer } from "./cluster-answers.js";
import type { ClusterWatch } from "./cluster-watch.js";
import { secondsOf } from "./fields.js";
import { keepAlive, sentEvent, signedOut } from "./server-sent.js";

export interface ClusterStreamParts {
  readonly watch: ClusterWatch;
  readonly nodeId: string;
  /** The last transition that the listener has seen before; null where it begins. */
  readonly after: bigint | null;
  /** Nobody listens any more, or this node closes. */
  readonly signal: AbortSignal;
  /** Whoever listens may do so no more. */
  readonly accessEnded: AbortSignal;
  readonly keepAliveMs: number;
  /** Told when a piece is handed over, and when it was taken. */
  readonly stalled: (isStalled: boolean) => void;
}

/**
 * What a listener hears of the cluster. It pulls: who leads and who is here comes as it is by then, so a slow listener misses
 * what was so in between, and nothing is kept for it; each change of leadership comes once.
 */
export async function* clusterStream(parts: ClusterStreamParts): AsyncGenerator<string, void> {
  const { watch, nodeId, keepAliveMs, stalled } = parts;
  const signal = AbortSignal.any([parts.signal, parts.accessEnded]);
  using _following = watch.follow();
  const say = function* (text: string): Generator<string, void> {
    stalled(true);
    yield text;
    stalled(false);
  };
  const known = { leaders: 0, nodes: 0, transitions: watch.transitions };
  let { after } = parts;
  yield* say(sentEvent("hello", { node_id: nodeId, now: secondsOf(watch.now()), version }));
  while (!signal.aborted) {
    const { leaders, nodes, recent, transitions } = watch;
    const lines = [...missed(recent, after), ...watch.transitionsAfter(known.transitions)];
    const pieces = [
      ...(leaders === null || leaders.version === known.leaders ? [] : [sentEvent("leaders", leaders.body)]),
      ...(nodes === null || nodes.version === known.nodes ? [] : [sentEvent("nodes", nodes.body)]),
      ...once(lines).map((line) => sentEvent("history", line, line.id)),
    ];
    known.leaders = leaders?.version ?? known.leaders;
    known.nodes = nodes?.version ?? known.nodes;
    known.transitions = transitions;
    if (recent !== null) after = null;
    if (pieces.length > 0) yield* say(pieces.join(""));
    else if (!(await watch.changed(keepAliveMs, signal)) && !signal.aborted) yield* say(keepAlive);
  }
  if (!parts.signal.aborted) yield* say(signedOut);
}

/** What came while a listener was away, as far as it is among the newest. */
function missed(recent: readonly TransitionAnswer[] | null, after: bigint | null): readonly TransitionAnswer[] {
  return recent === null || after === null ? [] : recent.filter(({ id }) => BigInt(id) > after);
}

function once(lines: readonly TransitionAnswer[]): readonly TransitionAnswer[] {
  return [...new Map(lines.map((line) => [line.id, line])).values()];
}
