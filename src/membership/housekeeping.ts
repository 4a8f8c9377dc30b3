import type { Clock } from "../election/clock.js";

/** Something to be done again and again, whatever becomes of it. */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<void>;
}

/** Does each chore at its own pace until it is stopped. A chore that fails is told of, and tried again at its next turn. */
export class Housekeeping {
  private readonly clock: Clock;
  private readonly trouble: (what: string, error: unknown) => void;
  private readonly cancels = new Map<Chore, () => void>();
  private stopped = false;

  constructor(clock: Clock, trouble: (what: string, error: unknown) => void) {
    this.clock = clock;
    this.trouble = trouble;
  }

  start(chore: Chore): void {
    if (this.stopped) return;
    const turn = (): void => {
      chore
        .run()
        .catch((error: unknown) => this.trouble(`could not ${chore.name}`, error))
        .finally(() => this.start(chore));
    };
    this.cancels.set(chore, this.clock.wakeAt(this.clock.mono() + chore.everyMs, turn));
  }

  stop(): void {
    this.stopped = true;
    for (const cancel of this.cancels.values()) cancel();
  }
}
