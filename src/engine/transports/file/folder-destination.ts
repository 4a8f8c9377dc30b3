import { errorText } from "../../../errors.js";
import { untilEither } from "../../../lifecycle/either.js";
import { type DeliveryProgress, unlessCalledOff } from "../called-off.js";
import { guardedWrite } from "../guarded-write.js";
import { DestinationStanding } from "../standing.js";
import type {
  Delivery,
  DeliveryOutcome,
  Destination,
  DestinationParts,
  DestinationState,
  WriteGuard,
} from "../transport.js";
import { fileNameOf, numbered } from "./file-name.js";
import type { OutboundFolder } from "./folder.js";
import type { WritingSettings } from "./folder-settings.js";
import { hiddenName } from "./hidden-name.js";

/** A folder with more files of one name has another problem. */
const mostNumbers = 10_000;
/** Deliveries name their files one after the other, so that two of them do not choose the same: those of all lanes, where it takes that. */
const naming = new Map<unknown, Promise<unknown>>();

/**
 * Puts each message into a file of its own: written whole and to the disk under a hidden name, then renamed. Nobody sees half
 * of one, and what ends before the rename leaves nothing that anybody reads.
 */
export class FolderDestination implements Destination {
  private readonly parts: DestinationParts<WritingSettings>;
  private readonly folder: OutboundFolder;
  private readonly standing: DestinationStanding;
  private readonly closing = new AbortController();

  constructor(parts: DestinationParts<WritingSettings>, folder: OutboundFolder) {
    this.parts = parts;
    this.folder = folder;
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
    else this.standing.become("failed", outcome.reason);
    return outcome;
  }

  async close(): Promise<void> {
    this.standing.become("closed");
    this.closing.abort();
    await this.folder.close();
  }

  private async deliver(
    delivery: Delivery,
    guard: WriteGuard,
    signal: AbortSignal,
    progress: DeliveryProgress,
  ): Promise<DeliveryOutcome> {
    const hidden = hiddenName();
    try {
      await this.folder.open();
    } catch (error) {
      return unreached(error);
    }
    if (signal.aborted) return { kind: "unreached", reason: "it was called off" };
    const writing = guardedWrite(guard, () => this.folder.writeHidden(hidden, delivery.body));
    try {
      await writing;
    } catch (error) {
      await this.discard(hidden);
      return unreached(error);
    }
    return await this.inTurn(async () => await this.publish(hidden, delivery, guard, signal, progress));
  }

  private async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const whose = this.folder.turnsOf ?? this;
    const done = (naming.get(whose) ?? Promise.resolve()).then(work);
    const turn = done.catch(() => undefined);
    naming.set(whose, turn);
    try {
      return await done;
    } finally {
      if (naming.get(whose) === turn) naming.delete(whose);
    }
  }

  /** Gives the hidden file its name. Rejects only with what the guard threw. */
  private async publish(
    hidden: string,
    delivery: Delivery,
    guard: WriteGuard,
    signal: AbortSignal,
    progress: DeliveryProgress,
  ): Promise<DeliveryOutcome> {
    const { fileName, overwrite } = this.parts.settings;
    const wanted = fileNameOf(fileName, delivery, this.parts.clock.wall());
    const replace = overwrite || fileName.includes("{key}");
    for (let nth = 1; nth <= mostNumbers; nth += 1) {
      const name = numbered(wanted, nth);
      const there = replace ? "absent" : await this.folder.compare(name, delivery.body).catch(failed);
      if (typeof there !== "string") return await this.giveUp(hidden, there.reason);
      // The same message under its own name: an earlier attempt got that far.
      if (there === "same" && fileName.includes("{id}")) {
        await this.discard(hidden);
        return { kind: "delivered", reply: null };
      }
      if (there !== "absent") continue;
      if (signal.aborted) return await this.giveUp(hidden, "it was called off");
      const renaming = await this.rename(hidden, name, replace, guard, progress);
      if (renaming.kind === "exists") continue;
      if (renaming.kind === "renamed") return await this.settle(name);
      if (renaming.isUnknown) return { kind: "unconfirmed", reason: renaming.reason };
      progress.mayBeThere = false;
      return await this.giveUp(hidden, renaming.reason);
    }
    return await this.giveUp(hidden, `there are ${mostNumbers} files named like ${wanted}: clear the folder`);
  }

  private async rename(hidden: string, name: string, replace: boolean, guard: WriteGuard, progress: DeliveryProgress) {
    try {
      return await guardedWrite(guard, () => {
        // From the rename on its file may be there.
        progress.mayBeThere = true;
        return this.folder.rename(hidden, name, replace);
      });
    } catch (error) {
      await this.discard(hidden);
      throw error;
    }
  }

  private async settle(name: string): Promise<DeliveryOutcome> {
    try {
      await this.folder.settle();
      return { kind: "delivered", reply: null };
    } catch (error) {
      return { kind: "unconfirmed", reason: `${name} is there and may not survive a power cut (${errorText(error)})` };
    }
  }

  private async giveUp(hidden: string, reason: string): Promise<DeliveryOutcome> {
    await this.discard(hidden);
    return { kind: "unreached", reason };
  }

  /** What stays behind is hidden, and is swept when the folder is opened the next time. */
  private async discard(hidden: string): Promise<void> {
    await this.folder.remove(hidden).catch((error: unknown) => {
      this.parts.log.debug({ err: error, file: hidden }, "a hidden file was left behind");
    });
  }
}

const failed = (error: unknown) => ({ reason: errorText(error) });

function unreached(error: unknown): DeliveryOutcome {
  return { kind: "unreached", reason: errorText(error) };
}
