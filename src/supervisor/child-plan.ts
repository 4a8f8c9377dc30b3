import type { ChildName, Place } from "./core/messages.js";

/** How a child is started. */
export interface ChildPlan {
  readonly child: ChildName;
  /** The script, and its arguments. */
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What it gets to stop once its supervisor is gone. */
  readonly graceMs: number;
  /** It stops by itself where its supervisor says nothing for so long; 0: it does not. */
  readonly silenceMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What is known when the node-controller starts. */
export interface PlanParts {
  /** The script of the `holdfast` command. */
  readonly program: string;
  /** In place of `holdfast agent`, called with the same arguments. For tests. */
  readonly agentProgram: string | null;
  readonly env: Environment;
  readonly cwd: string;
  readonly serviceConfig: string | null;
  /** Where the agent asks first; null: at the controller beside it. */
  readonly agentUrl: string | null;
  /** The directory with the operations that the agent runs. */
  readonly ops: string;
  /** What its tasks get to end once it is told to stop; what it then needs to report is not in it. */
  readonly agentDrainMs: number;
  readonly stopMs: Readonly<Record<ChildName, number>>;
}

/** An agent may run beside a leader that its frozen supervisor knows nothing of: for so long, and the time to stop. */
const agentSilenceMs = 5_000;

/** The agent's token is not for the controller, which lets others in and does not knock. */
export function controllerPlan(parts: PlanParts): ChildPlan {
  const { program, serviceConfig, cwd, stopMs } = parts;
  const settings = serviceConfig === null ? [] : ["--service-config", serviceConfig];
  return {
    child: "controller",
    words: [program, "controller", ...settings],
    env: environmentOf(parts.env, (name) => name !== "HOLDFAST_TOKEN"),
    cwd,
    graceMs: stopMs.controller,
    silenceMs: 0,
  };
}

/** The operations that an agent runs are anybody's code: the way into the database is kept from them. */
export function agentPlan(parts: PlanParts, { nodeId, url }: Place): ChildPlan {
  const { program, agentProgram, agentUrl, ops, agentDrainMs, cwd, stopMs } = parts;
  const call = agentProgram === null ? [program, "agent"] : [agentProgram];
  const where = ["--url", agentUrl ?? url, "--name", agentName(nodeId)];
  return {
    child: "agent",
    words: [...call, ...where, "--ops", ops, "--drain-timeout", `${agentDrainMs}ms`],
    env: environmentOf(
      parts.env,
      (name) => !name.startsWith("HOLDFAST_") || name === "HOLDFAST_TOKEN" || name.startsWith("HOLDFAST_LOG_"),
    ),
    cwd,
    graceMs: stopMs.agent,
    silenceMs: agentSilenceMs,
  };
}

export function agentName(nodeId: string): string {
  return `${nodeId}-worker`;
}

/** Children log for a machine, whoever reads it in the end: their lines are read here first. */
function environmentOf(env: Environment, isFor: (name: string) => boolean): Record<string, string> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isFor(name) ? [[name, value] as const] : [],
  );
  return { ...Object.fromEntries(kept), HOLDFAST_LOG_FORMAT: "json" };
}
