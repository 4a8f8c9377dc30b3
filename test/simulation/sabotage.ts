import type { Hooks } from "./hooks.js";
import type { ThemeName } from "./themes.js";
import type { Invariant } from "./violation.js";

/** A protocol with one rule broken, and the invariant that has to notice. */
export interface Sabotage {
  readonly name: string;
  readonly caughtBy: Invariant;
  /** The scenarios in which it shows soonest. */
  readonly theme: ThemeName;
  readonly hooks: Hooks;
}
