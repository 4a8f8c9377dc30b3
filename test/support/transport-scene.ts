import { pino } from "pino";
import { vi } from "vitest";
import { systemClock } from "../../src/election/clock.js";
import type {
  Arrival,
  Checked,
  Delivery,
  DestinationParts,
  DestinationState,
  Receipt,
  SourceParts,
  SourceState,
  WriteGuard,
} from "../../src/engine/transports/transport.js";

/** The settings where a check found nothing wrong with them. */
export function sound<Settings>(checked: Checked<Settings>): Settings {
  if (Array.isArray(checked)) throw new Error(checked.join("\n"));
  return checked;
}

/** Stands in for the engine behind a source: keeps what arrives, knows a key again, and can be away or slow. */
export class Intake {
  readonly kept: { readonly arrival: Arrival; readonly ack: Buffer | null }[] = [];
  readonly receipts: Receipt[] = [];
  readonly states: SourceState[] = [];
  readonly lines: Record<string, unknown>[] = [];
  /** Says why an arrival is refused, or null to take it. */
  refuse: (arrival: Arrival) => { readonly reason: string; readonly retry: boolean } | null = () => null;
  malformed: (arrival: Arrival) => string | null = () => null;
  /** Awaited before each commit. */
  hold: () => Promise<void> = () => Promise.resolve();
  private readonly firsts = new Map<string, Receipt & { readonly kind: "accepted" }>();

  get bodies(): readonly string[] {
    return this.kept.map(({ arrival }) => arrival.body.toString());
  }

  parts<Settings>(settings: Settings): SourceParts<Settings> {
    return {
      name: "feed",
      settings,
      clock: systemClock,
      log: pino({ level: "debug" }, { write: (line: string) => void this.lines.push(JSON.parse(line)) }),
      accept: (arrival, ack) => this.accept(arrival, ack),
      changed: (state) => void this.states.push(state),
    };
  }

  /** The messages of its log lines, from warnings on. */
  get warnings(): readonly string[] {
    return this.lines.filter(({ level }) => Number(level) >= 40).map(({ msg }) => String(msg));
  }

  private async accept(arrival: Arrival, ack: (receipt: Receipt) => Buffer | null): Promise<Receipt> {
    await this.hold();
    const receipt = this.judge(arrival, ack);
    this.receipts.push(receipt);
    return receipt;
  }

  private judge(arrival: Arrival, ack: (receipt: Receipt) => Buffer | null): Receipt {
    const refusal = this.refuse(arrival);
    if (refusal !== null) return { kind: "refused", ...refusal };
    const first = arrival.key === undefined ? undefined : this.firsts.get(arrival.key);
    if (first !== undefined) return { ...first, duplicate: true };
    const id = String(this.kept.length + 1);
    const bare: Receipt = { kind: "accepted", id, duplicate: false, malformed: this.malformed(arrival), ack: null };
    const receipt = { ...bare, ack: ack(bare) };
    this.kept.push({ arrival, ack: receipt.ack });
    if (arrival.key !== undefined) this.firsts.set(arrival.key, receipt);
    return receipt;
  }
}

export interface DestinationScene<Settings> {
  readonly parts: DestinationParts<Settings>;
  readonly states: DestinationState[];
}

export function destinationScene<Settings>(settings: Settings): DestinationScene<Settings> {
  const states: DestinationState[] = [];
  const parts = {
    name: "lab",
    settings,
    clock: systemClock,
    log: pino({ level: "silent" }),
    changed: (state: DestinationState) => void states.push(state),
  };
  return { parts, states };
}

export function deliveryOf(body: string | Buffer, given: Partial<Delivery> = {}): Delivery {
  const headers = { id: "42", connection: "feed", type: "ADT^A01", control_id: "MSG7", outbound: "lab" };
  return { body: Buffer.from(body), headers, attempt: 1, idempotencyKey: "lab/7", epoch: 3n, ...given };
}

export const openGuard: WriteGuard = { mayWrite: () => undefined };

/** A guard of a term that is over from its nth question on. */
export function guardShutAt(nth: number): WriteGuard & { readonly asked: () => number } {
  let asked = 0;
  return {
    asked: () => asked,
    mayWrite: () => {
      asked += 1;
      if (asked >= nth) throw new Error("the epoch leads no more");
    },
  };
}

export const noAbort = new AbortController().signal;

/** A promise to be settled from outside. */
export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

export function createLatch(): Latch {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** A commit that begins and does not end until it is let. */
export function heldCommit(intake: Intake): { readonly begun: Promise<void>; release(): void } {
  const begun = createLatch();
  const end = createLatch();
  intake.hold = async () => {
    begun.open();
    await end.opened;
  };
  return { begun: begun.opened, release: () => end.open() };
}

/** Waits for what comes true by itself, for as long as a busy machine may take. */
export async function eventually(check: () => unknown): Promise<void> {
  await vi.waitFor(check, { timeout: 20_000, interval: 10 });
}
