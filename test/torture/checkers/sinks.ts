import type { Checker, Violation } from "../checker.js";
import type { EffectEvent } from "../history.js";
import { groupBy } from "./groups.js";

const name = "sinks";

/**
 * What reached the outside. The sink that checks tokens takes nothing of a lower epoch after a higher one. That the trusting one gets
 * something late is no violation, since what left in time may arrive late; but the gate is asked right before each effect, so it was
 * asked before the successor's first effect had come.
 */
export const sinks: Checker = {
  name,
  promise:
    "What checks the token takes nothing from a deposed leader; what does not gets only what was under way (G3).",
  check(history) {
    const effects = history.filter((event) => event.kind === "effect" && event.accepted) as readonly EffectEvent[];
    return [...groupBy(effects, ({ sink, role }) => `${sink} ${role}`).values()].flatMap(lateEffects);
  },
};

function lateEffects(effects: readonly EffectEvent[]): readonly Violation[] {
  const found: Violation[] = [];
  /** The first effect of the highest epoch so far. */
  let successor: EffectEvent | undefined;
  for (const effect of effects.toSorted((one, other) => one.at - other.at)) {
    const { role, sink, epoch, node, gateAt, at } = effect;
    if (successor === undefined || BigInt(epoch) > BigInt(successor.epoch)) successor = effect;
    if (BigInt(epoch) >= BigInt(successor.epoch)) continue;
    const told = `${role}: the ${sink} sink took epoch ${epoch} of ${node} after ${successor.epoch} of ${successor.node}`;
    if (sink === "checking") found.push({ checker: name, at, text: told });
    else if (gateAt > successor.at) {
      const late = `its gate was open ${(gateAt - successor.at).toFixed(1)} ms after that`;
      found.push({ checker: name, at, text: `${told}, and ${late}` });
    }
  }
  return found;
}
