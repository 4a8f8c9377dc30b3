import { describeTakeover } from "./demo-screen.js";
import type { DemoState } from "./demo-state.js";

/** What happened between two states, a line each, for whoever has no screen. */
export function storyOf(before: DemoState, after: DemoState): readonly string[] {
  const ended = after.nodes.flatMap(({ id, pid, condition }) => {
    const was = before.nodes.find((node) => node.id === id)?.condition.kind;
    return condition.kind === "dead" && was !== "dead" ? [`${id} (pid ${pid}) ended: ${condition.how}`] : [];
  });
  const [latest] = after.takeovers;
  const earlier = before.takeovers.find(({ epoch }) => epoch === latest?.epoch);
  // Told once, and with the database's account of it.
  const told = latest !== undefined && latest.databaseMs !== null && (earlier?.databaseMs ?? null) === null;
  return [...ended, ...(told ? [describeTakeover(latest)] : [])];
}
