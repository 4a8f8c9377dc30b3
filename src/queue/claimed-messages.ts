import { delayHeader, type StoredMessage } from "../store/queue-contract.js";
import type { Lane } from "./core/lane.js";
import type { Message } from "./message.js";

/** How long it still waits, by the database's clock. */
export function delayLeft({ headers, ageMs }: StoredMessage): number {
  return headers === null ? 0 : Number(headers[delayHeader] ?? 0) - ageMs;
}

const none: Readonly<Record<string, string>> = Object.freeze({});

/** Those that its handler sees. */
function headersOf({ headers }: StoredMessage): Readonly<Record<string, string>> {
  if (headers?.[delayHeader] === undefined) return headers ?? none;
  const { [delayHeader]: _, ...rest } = headers;
  return rest;
}

export function groupByLane(messages: readonly StoredMessage[]): Map<number, StoredMessage[]> {
  const lanes = new Map<number, StoredMessage[]>();
  for (const message of messages) {
    const known = lanes.get(message.lane);
    if (known === undefined) lanes.set(message.lane, [message]);
    else known.push(message);
  }
  return lanes;
}

/** As its handler gets it. */
export function messageOf(
  lane: Lane,
  stored: StoredMessage,
  attempt: number,
  { queue, epoch }: Pick<Message, "queue" | "epoch">,
): Message {
  return {
    queue,
    stage: lane.stage,
    lane: lane.name,
    position: stored.position,
    key: stored.key,
    headers: headersOf(stored),
    body: stored.body,
    attempt,
    interrupted: lane.reclaims > 0 && stored.position === lane.done + 1,
    epoch,
    at: new Date(stored.at),
  };
}
