import type { LaneName } from "../store/queue-contract.js";
import type { Lane } from "./core/lane.js";
import { Settling } from "./settling.js";
import type { QueueTermParts } from "./term-parts.js";

type SettlingOptions = ConstructorParameters<typeof Settling>[0];

export interface SettlingsOptions extends Omit<SettlingOptions, "parts" | "onSettled" | "failed"> {
  readonly parts: QueueTermParts;
  /** What has been delivered is known to the database again, as far as this line of commits goes. */
  readonly onSettled: (line: SettlingLine) => void;
  readonly failed: (error: unknown, line: SettlingLine) => void;
}

export type SettlingLine = "usual" | "each";

/**
 * Two lines of commits beside each other. Where each message is settled before the next of its lane begins, a lane would
 * otherwise wait for what others have produced to be on disk, at every message. A lane is always settled in the same line, so
 * no two commits are about the same one.
 */
export class Settlings {
  private readonly lines: Readonly<Record<SettlingLine, Settling>>;
  private readonly settleEach: ReadonlySet<string>;

  constructor(options: SettlingsOptions) {
    const lineOf = (line: SettlingLine): Settling =>
      new Settling({
        ...options,
        onSettled: () => options.onSettled(line),
        failed: (error) => options.failed(error, line),
      });
    this.lines = { usual: lineOf("usual"), each: lineOf("each") };
    this.settleEach = options.parts.conduct.settleEach ?? new Set();
  }

  of({ stage }: Lane): Settling {
    return this.settlesEach(stage) ? this.lines.each : this.lines.usual;
  }

  /** Whether the next message of a lane in this stage waits until the last is known to be finished. */
  settlesEach(stage: string): boolean {
    return this.settleEach.has(stage);
  }

  /** How many lanes nobody works on any more, and are still in flight until the next commits. */
  get unsettled(): number {
    return this.lines.usual.unsettled + this.lines.each.unsettled;
  }

  /** Whether something that was produced for this lane of an express stage waits for its commit. */
  isComing(to: LaneName): boolean {
    return this.lines.usual.isComing(to) || this.lines.each.isComing(to);
  }

  nudge(): void {
    for (const line of Object.values(this.lines)) line.nudge();
  }

  stop(): void {
    for (const line of Object.values(this.lines)) line.stop();
  }

  /** Runs until it is told to stop and nothing is left. */
  async run(): Promise<void> {
    await Promise.all(Object.values(this.lines).map(async (line) => await line.run()));
  }
}
