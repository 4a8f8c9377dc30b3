import type { Simulation } from "./simulation.js";

/** A last term ends cleanly, and every message that was acknowledged or handed on has come to its end. */
export async function checkEnd(simulation: Simulation): Promise<void> {
  const { leadership, time, scenario, history, plans, violate } = simulation;
  for (const plan of plans.byName.values()) {
    const entry = history.byName.get(plan.name);
    if (plan.state === "acknowledged" && entry === undefined) violate("G4", `${plan.name} is lost`);
    if (entry?.state === "finished" && entry.deliveries === 0) violate("G4", `${plan.name} was never delivered`);
    const parent = plan.producedBy === null ? undefined : history.byName.get(plan.producedBy.name);
    if (parent?.state === "finished" && entry === undefined) violate("handoff", `${plan.name} was not handed on`);
  }
  checkQuarantine(simulation);
  const term = leadership.current;
  if (term !== null) {
    leadership.stepDown(term);
    await time.runUntil(time.now + scenario.options.handlerTimeoutMs + 5_000, () => term.hasEnded);
    if (!term.hasEnded && term.process.isAlive) violate("drain", `epoch ${term.epoch} does not end`);
  }
  if (simulation.violation !== null) throw simulation.violation;
}

/** Where nothing but poison fells a process, only poison is put aside, and it fells no more than it may. */
function checkQuarantine({ scenario, felledBy, server, plans, violate }: Simulation): void {
  if (scenario.theme !== "poison") return;
  const { maxReclaims } = scenario.options;
  for (const { body, reason } of server.tables.deadLetters) {
    const name = body.toString();
    if (reason.startsWith("in flight") && plans.get(name)?.kind !== "poison") {
      violate("quarantine", `${name} was put aside, and fells nobody`);
    }
  }
  for (const [name, times] of felledBy) {
    // Each time before that, others of its batch that come before it were got done.
    if (times > maxReclaims + 1 + (scenario.options.batch ?? 1))
      violate("quarantine", `${name} felled ${times} processes in a row`);
  }
}
