import { Agent } from "../../src/jobs/agent/agent.js";
import type { AgentOptions } from "../../src/jobs/agent/agent-settings.js";
import type { OperationContext } from "../../src/jobs/agent/operation.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import type { StandInLeader } from "./stand-in-leader.js";

const patienceMs = 15_000;

export async function until(condition: () => boolean): Promise<void> {
  if (!(await waitUntil(condition, patienceMs))) throw new Error(`It did not come true: ${String(condition)}`);
}

/** An agent at work, with the operations of a test. Disposing stops it. */
export function startAgent(leader: { readonly url: string }, options: Partial<AgentOptions> = {}) {
  const agent = new Agent({
    url: leader.url,
    name: "worker-1",
    operations: { double: ({ n }: { readonly n: number }) => ({ n: 2 * n }) },
    pollMs: 2_000,
    heartbeatMs: 50,
    progressMs: 10,
    drainMs: 10_000,
    ...options,
  });
  const running = agent.run();
  running.catch(() => undefined); // A test that expects the failure awaits it.
  return {
    agent,
    running,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await agent.stop();
    },
  };
}

/** An operation that begins, and ends when the test says so. */
export function gatedOperation({ heeds = true } = {}) {
  const begun: { readonly payload: unknown; readonly context: OperationContext; readonly end: () => void }[] = [];
  const operation = async (payload: unknown, context: OperationContext): Promise<string> => {
    await new Promise<void>((resolve, reject) => {
      begun.push({ payload, context, end: resolve });
      if (heeds) context.signal.addEventListener("abort", () => reject(context.signal.reason as Error), { once: true });
    });
    return "done";
  };
  return { begun, operation };
}

/** The results that a leader was sent, in the order in which they came. */
export function reportsOf(leader: StandInLeader): readonly Readonly<Record<string, unknown>>[] {
  const requests = leader.heard.filter(({ path }) => path === "/v1/results");
  return requests.flatMap(({ body }) => body.results as Record<string, unknown>[]);
}
