import { type AppendBatch, delayHeader, type StoredMessage } from "../store/queue-contract.js";
import type { Lane } from "./core/lane.js";

const mostBytes = 32 * 1_048_576;
/** What one weighs beside its body, about. */
const restingBytes = 500;

/**
 * What this leader has taken in and nobody has claimed yet, so that it need not be read again. It is what the database has: messages
 * never change, and these are committed. Whether they are still the next ones of their lane, the claim finds out.
 */
export class RecentMessages {
  private readonly byLane = new Map<number, StoredMessage[]>();
  private bytes = 0;

  /** They are committed. `now`: milliseconds since 1970. */
  note({ messages, segment }: AppendBatch, now: number): void {
    for (const { lane, position, key, headers, body } of messages) {
      const known = this.follow(lane, position);
      // How long it has waited is the database's to say.
      if (headers?.[delayHeader] !== undefined) continue;
      known.push({ lane, position, segment, key, headers, at: now, ageMs: 0, body });
      this.bytes += weightOf(body);
    }
    // Something stands still, and it holds more than is worth keeping. What comes from now on is remembered again.
    if (this.bytes > mostBytes) this.forget();
  }

  /** The next messages of a lane, if they are here. Handed out once: who needs them again reads them. */
  take({ id, done }: Pick<Lane, "id" | "done">, most: number): readonly StoredMessage[] | undefined {
    const known = this.byLane.get(id);
    const [first] = known ?? [];
    if (known === undefined || first === undefined || first.position > done + 1) return undefined;
    this.drop(known, done + 1 - first.position);
    const taken = this.drop(known, most);
    return taken.length === 0 ? undefined : taken;
  }

  private follow(lane: number, position: number): StoredMessage[] {
    const known = this.byLane.get(lane) ?? [];
    this.byLane.set(lane, known);
    const last = known.at(-1);
    if (last !== undefined && last.position + 1 !== position) this.drop(known, known.length);
    return known;
  }

  private drop(known: StoredMessage[], count: number): readonly StoredMessage[] {
    const dropped = known.splice(0, count);
    for (const { body } of dropped) this.bytes -= weightOf(body);
    return dropped;
  }

  private forget(): void {
    this.byLane.clear();
    this.bytes = 0;
  }
}

const weightOf = (body: Buffer): number => restingBytes + body.length;
