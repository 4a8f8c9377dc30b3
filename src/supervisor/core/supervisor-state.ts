import type { Backoff } from "../../queue/core/backoff.js";
import type { ChildName, ControllerRole, Place } from "./messages.js";

export interface SupervisorSettings {
  /** Whether the agent works beside a standby. */
  readonly moonlight: boolean;
  /** What a child gets to stop by itself before it is killed. */
  readonly stopMs: Readonly<Record<ChildName, number>>;
  /** Between the end of a child and its next start. */
  readonly backoff: Backoff;
  /** A child that has run for so long has got over its failures. */
  readonly healthyMs: number;
  /** So many failures in a row are a crash loop. */
  readonly loopAfter: number;
}

export type ChildPhase =
  | { readonly kind: "off" }
  /** No process: the next one is not started before `until`. */
  | { readonly kind: "waiting"; readonly until: number }
  /** `healthyAt` is null while it has not said that it serves. */
  | { readonly kind: "running"; readonly run: number; readonly healthyAt: number | null }
  /** It was told to stop; `killAt` is null when it has been killed, and only its end is awaited. */
  | { readonly kind: "stopping"; readonly run: number; readonly killAt: number | null };

export interface Child {
  readonly phase: ChildPhase;
  /** How many processes of it there were. */
  readonly runs: number;
  /** Ends in a row that nobody asked for. */
  readonly failures: number;
}

export interface SupervisorState {
  readonly settings: SupervisorSettings;
  readonly controller: Child;
  readonly agent: Child;
  /** What the controller that runs now has said; null before it has said anything, and when it is gone. */
  readonly place: Place | null;
  readonly role: ControllerRole | null;
  readonly everServed: boolean;
  readonly ending: "no" | "in_order" | "at_once" | "over";
  readonly exitCode: number;
}

const unborn: Child = { phase: { kind: "off" }, runs: 0, failures: 0 };

export function initialState(settings: SupervisorSettings): SupervisorState {
  return {
    settings,
    controller: unborn,
    agent: unborn,
    place: null,
    role: null,
    everServed: false,
    ending: "no",
    exitCode: 0,
  };
}

/**
 * The rule: the agent works only beside a controller whose last word is STANDBY. One that leads, drains, has not spoken yet
 * or is gone has none. So "may lead" needs no guess: whatever is not known to stand by may.
 */
export function placeForAgent(state: SupervisorState): Place | null {
  const { settings, ending, controller, role, place } = state;
  const allowed = settings.moonlight && ending === "no" && controller.phase.kind === "running" && role === "STANDBY";
  return allowed ? place : null;
}
