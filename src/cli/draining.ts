import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../errors.js";
import type { NodesAnswer, RequestAnswer } from "../server/cluster-answers.js";
import type { CommandLine } from "./command-line.js";
import { formatElapsed } from "./elapsed.js";
import type { NodeClient } from "./node-client.js";
import { oneLine } from "./paint.js";
import { shorten } from "./table.js";

/** A node answers after so long that the other one has not acted yet. */
const longestAskMs = 30_000;
/** Beside what the node itself waits. */
const answerSlackMs = 5_000;
const betweenAsksMs = 250;
const progressMs = 500;

/** Asks for a drain and waits until it is over. A timeout of 0 only asks. */
export async function drainNode(
  cli: CommandLine,
  client: NodeClient,
  { id, timeoutMs }: { readonly id: string; readonly timeoutMs: number },
): Promise<RequestAnswer> {
  const until = performance.now() + timeoutMs;
  const over = new AbortController();
  const showing = showProgress(cli, client, id, over.signal);
  try {
    for (;;) {
      const waitMs = Math.round(Math.min(longestAskMs, Math.max(0, until - performance.now())));
      const path = `/cluster/nodes/${encodeURIComponent(id)}/drain?wait_ms=${waitMs}`;
      const answer = await client.post<RequestAnswer>(path, { timeoutMs: waitMs + answerSlackMs });
      if (answer.acted_at !== null || timeoutMs === 0) return answer;
      const leftMs = until - performance.now();
      if (leftMs <= 0) throw overdue(id, timeoutMs);
      await delay(Math.min(betweenAsksMs, leftMs));
    }
  } finally {
    over.abort();
    await showing;
  }
}

function overdue(id: string, timeoutMs: number): HoldfastError {
  return new HoldfastError(
    "REFUSED",
    `Node "${id}" has not finished within ${formatElapsed(timeoutMs)}; it goes on draining: see "holdfast node show ${id}".`,
  );
}

/** One line on a terminal that is written over. What cannot be read now is no reason to stop. */
async function showProgress(cli: CommandLine, client: NodeClient, id: string, signal: AbortSignal): Promise<void> {
  if (!cli.stderr.isTTY) return;
  const since = performance.now();
  const clear = "\r\u001b[K";
  while (!signal.aborted) {
    const node = await client
      .get<NodesAnswer>("/cluster/nodes", { signal })
      .then(({ nodes }) => nodes.find((each) => each.node_id === id))
      .catch(() => undefined);
    const state = node === undefined ? "" : `: ${node.status}, ${node.current_jobs} under way`;
    const line = `${oneLine(id)}${state} (${formatElapsed(performance.now() - since)})`;
    if (!signal.aborted) cli.stderr.write(`${clear}${shorten(line, cli.stderr.columns - 1)}`);
    await delay(progressMs, undefined, { signal }).catch(() => undefined);
  }
  cli.stderr.write(clear);
}
