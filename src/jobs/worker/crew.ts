import { HoldfastError } from "../../errors.js";
import type { AgentLog } from "../agent/agent-log.js";
import type { WorkSettings } from "../agent/agent-settings.js";
import { AgentWork } from "../agent/agent-work.js";
import type { WorkLink } from "../agent/work-link.js";

export interface CrewParts {
  readonly settings: WorkSettings;
  readonly link: () => WorkLink;
  /** Whether it may work now. */
  readonly mayWork: () => boolean;
  /** How long what runs may take when it may not any more. */
  readonly drainMs: () => number;
  readonly log: AgentLog;
}

/**
 * The work that a node does on jobs of one kind: on where it may, and off where it may not. Turned off, it takes no more at once,
 * lets what runs end for a while and gives the rest back; only then can it be turned on again.
 */
export class Crew {
  private readonly parts: CrewParts;
  private work: AgentWork | null = null;
  private stopping: Promise<void> | null = null;
  private isDismissed = false;

  constructor(parts: CrewParts) {
    this.parts = parts;
  }

  /** How many tasks run. */
  get running(): number {
    return this.work?.counts.running ?? 0;
  }

  /** It has been turned off, and has not let go of everything yet. */
  get isStopping(): boolean {
    return this.stopping !== null;
  }

  /** Something may have changed that decides whether it may work. */
  reconsider(): void {
    if (this.isDismissed) return;
    if (this.work === null && this.parts.mayWork()) this.begin();
    else if (this.work !== null && this.stopping === null && !this.parts.mayWork()) this.turnOff();
  }

  /** Resolves when nothing is under way any more. */
  async stop(): Promise<void> {
    const { work } = this;
    if (work === null) return;
    this.stopping ??= work.stop(this.parts.drainMs()).finally(() => {
      this.work = null;
      this.stopping = null;
      this.reconsider();
    });
    await this.stopping;
  }

  private begin(): void {
    const { settings, link, log } = this.parts;
    const work = new AgentWork(settings, link());
    this.work = work;
    work.run().catch((error: unknown) => {
      // It was taken out by hand: it stays out until the process is another.
      this.isDismissed = true;
      const code = error instanceof HoldfastError ? error.code : "INTERNAL";
      log.error(
        { agent: settings.name, error: code, err: error },
        "this node works on no more jobs until it is restarted",
      );
      this.turnOff();
    });
  }

  private turnOff(): void {
    const { settings, log } = this.parts;
    this.stop().catch((error: unknown) => {
      log.error({ agent: settings.name, err: error }, "what this node worked on could not be given back");
    });
  }
}
