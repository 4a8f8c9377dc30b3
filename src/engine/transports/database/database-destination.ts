import { HoldfastError } from "../../../errors.js";
import { untilEither } from "../../../lifecycle/either.js";
import { type OpenOutside, type OutsideDatabase, OutsideFailure } from "../../../store/outside-contract.js";
import { type DeliveryProgress, unlessCalledOff } from "../called-off.js";
import { guardedWrite } from "../guarded-write.js";
import { namedSecret } from "../named-secret.js";
import { DestinationStanding } from "../standing.js";
import type {
  Delivery,
  DeliveryOutcome,
  Destination,
  DestinationParts,
  DestinationState,
  WriteGuard,
} from "../transport.js";
import type { DatabaseOutboundSettings } from "./database-settings.js";
import { NoParameters, parametersOf } from "./message-parameters.js";

/** Data that does not fit, a constraint, or an error that a function of theirs raised: the same message fails again. */
const forGood = /^(?:22|23|44|P0001$)/;

/** Runs one statement for each message, in a transaction. What is not committed was not written. */
export class DatabaseDestination implements Destination {
  private readonly parts: DestinationParts<DatabaseOutboundSettings>;
  private readonly open: OpenOutside;
  private readonly standing: DestinationStanding;
  private readonly closing = new AbortController();
  private database: OutsideDatabase | null = null;

  constructor(parts: DestinationParts<DatabaseOutboundSettings>, open: OpenOutside) {
    this.parts = parts;
    this.open = open;
    this.standing = new DestinationStanding(parts);
  }

  get state(): DestinationState {
    return this.standing.state;
  }

  async send(delivery: Delivery, guard: WriteGuard, signal: AbortSignal): Promise<DeliveryOutcome> {
    const outcome = await untilEither(signal, this.closing.signal, async (either) => {
      return await unlessCalledOff(either, async (progress) => await this.deliver(delivery, guard, either, progress));
    });
    if (outcome.kind === "delivered") this.standing.become("connected");
    else if (outcome.kind !== "rejected") this.standing.become("failed", outcome.reason);
    // What the database says of a message may quote it: that is told of the message, and not of the connection.
    else this.standing.become("connected", "it refused the last message");
    return outcome;
  }

  async close(): Promise<void> {
    this.standing.become("closed");
    this.closing.abort();
    await this.database?.close();
  }

  private async deliver(
    delivery: Delivery,
    guard: WriteGuard,
    signal: AbortSignal,
    progress: DeliveryProgress,
  ): Promise<DeliveryOutcome> {
    try {
      return await this.write(this.connected(), delivery, guard, signal, progress);
    } catch (error) {
      if (error instanceof NoParameters) return { kind: "rejected", reason: error.message, retry: false };
      if (error instanceof OutsideFailure) return outcomeOf(error);
      if (error instanceof HoldfastError && error.code === "BAD_SETTINGS") {
        return { kind: "unreached", reason: error.message };
      }
      throw error;
    }
  }

  private async write(
    database: OutsideDatabase,
    delivery: Delivery,
    guard: WriteGuard,
    signal: AbortSignal,
    progress: DeliveryProgress,
  ): Promise<DeliveryOutcome> {
    const { text, names } = this.parts.settings.statement;
    const values = parametersOf(names, delivery);
    const transaction = await database.begin();
    try {
      refuseAborted(signal);
      await guardedWrite(guard, () => transaction.run(text, values));
      refuseAborted(signal);
      await guardedWrite(guard, () => {
        progress.mayBeThere = true;
        return transaction.commit();
      });
      return { kind: "delivered", reply: null };
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  private connected(): OutsideDatabase {
    const { settings, name } = this.parts;
    this.database ??= this.open({
      url: namedSecret(settings.urlFrom, `Outbound "${name}"`),
      connectTimeoutMs: settings.connectTimeoutMs,
      replyTimeoutMs: settings.replyTimeoutMs,
      name: `holdfast outbound ${name}`,
    });
    return this.database;
  }
}

function outcomeOf({ kind, message, state }: OutsideFailure): DeliveryOutcome {
  switch (kind) {
    case "away":
      return { kind: "unreached", reason: message };
    case "unknown":
      return { kind: "unconfirmed", reason: message };
    case "refused":
      return { kind: "rejected", reason: message, retry: state === null || !forGood.test(state) };
  }
}

function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new OutsideFailure("away", "it was called off", null, null);
}
