import type { Page } from "../contract.js";
import {
  type ConnectionStanding,
  engineQueue,
  engineStages,
  type FoundMessages,
  type MessageAccount,
  type MessageFilter,
  type MessageRow,
  type MessageStatus,
  type MessageStep,
  messageIdHeader,
} from "../engine-contract.js";
import { statusesOf } from "../engine-status.js";
import { shownText } from "../engine-text.js";
import { wordsOf } from "../engine-words.js";
import type { DeadLetter } from "../queue-contract.js";
import type { MemoryCluster } from "./cluster.js";
import type { MemoryMessage } from "./engine-tables.js";
import type { MemoryLane, MemoryLetter } from "./queue-tables.js";

/** Looks through all there is: what is in memory is not much. */
export class MemoryEngineReading {
  private readonly shared: MemoryCluster;

  constructor(shared: MemoryCluster) {
    this.shared = shared;
  }

  search(filter: MessageFilter, { limit, before }: Page): FoundMessages {
    if (before !== undefined && !isId(before)) return { items: [], next: null };
    const { engine } = this.shared;
    const below = before === undefined ? Number.POSITIVE_INFINITY : Number(before);
    const found = [...engine.messages.values()]
      .filter((message) => message.id < below && this.fits(message, filter))
      .sort((one, other) => other.id - one.id)
      .slice(0, limit);
    const items = found.map((message) => this.row(message, filter.status));
    return { items, next: items.length < limit ? null : (items.at(-1)?.id ?? null) };
  }

  private fits(message: MemoryMessage, { from, until, connection, type, controlId, status, text }: MessageFilter) {
    const { receivedAt } = message;
    return (
      (from === undefined || receivedAt >= from) &&
      (until === undefined || receivedAt < until) &&
      (connection === undefined || shownText.connection(connection) === message.connection) &&
      (type === undefined || isOfType(message.type, shownText.type(type))) &&
      (controlId === undefined || shownText.controlId(controlId) === message.controlId) &&
      (status === undefined || this.hasStatus(message, status)) &&
      (text === undefined || text === "" || this.hasWords(message, text))
    );
  }

  private hasStatus(message: MemoryMessage, status: MessageStatus): boolean {
    if (status === "received" || status === "routed") {
      const stage = status === "received" ? engineStages.ingress : engineStages.routed;
      return this.pendingOf(message.id).some((place) => place.stage === stage);
    }
    if (status === "error") return this.lettersOf(message.id).some(({ redrivenAt }) => redrivenAt === null);
    return (this.shared.engine.steps.get(message.id) ?? []).some(({ kind }) => kind === status);
  }

  private hasWords(message: MemoryMessage, text: string): boolean {
    const wanted = wordsOf(Buffer.from(text));
    const body = this.bodyOf(`${message.id}`);
    if (wanted.length === 0 || body === null) return false;
    const there = new Set(wordsOf(body));
    return wanted.every((word) => there.has(word));
  }

  private row(message: MemoryMessage, asked?: MessageStatus): MessageRow {
    const { id, receivedAt, connection, type, controlId, size, replayOf, lane, position } = message;
    const statuses = statusesOf(
      {
        isReceived: (this.shared.queues.lanes.get(lane)?.done ?? position) < position,
        kinds: (this.shared.engine.steps.get(id) ?? []).map(({ kind }) => kind),
        isInError: this.lettersOf(id).some(({ redrivenAt }) => redrivenAt === null),
      },
      asked,
    );
    const replayed = replayOf === null ? null : `${replayOf}`;
    return { id: `${id}`, receivedAt, connection, type, controlId, size, replayOf: replayed, statuses };
  }

  rows(ids: readonly string[]): readonly MessageRow[] {
    const found = new Set(ids.map((id) => this.messageOf(id)).filter((message) => message !== undefined));
    return [...found].sort((one, other) => other.id - one.id).map((message) => this.row(message));
  }

  account(id: string): MessageAccount | null {
    const message = this.messageOf(id);
    if (message === undefined) return null;
    const letters = this.lettersOf(message.id);
    return {
      ...this.row(message),
      ack: message.ack,
      steps: this.stepsOf(message.id),
      deadLetters: letters.map(({ queue: _queue, body: _body, ...letter }): DeadLetter => letter),
      pending: this.pendingOf(message.id),
    };
  }

  private stepsOf(id: number): readonly MessageStep[] {
    const steps = this.shared.engine.steps.get(id) ?? [];
    return steps.map(({ id: _, ...step }, index) => ({ ...step, step: index + 1 }));
  }

  bodyOf(id: string): Buffer | null {
    const message = this.messageOf(id);
    if (message === undefined) return null;
    const lane = this.shared.queues.lanes.get(message.lane);
    return lane === undefined ? null : this.bodyAt(lane, message.position);
  }

  sentBodyOf(id: string, step: number): Buffer | null {
    const message = this.messageOf(id);
    const sent = message === undefined ? undefined : this.stepsOf(message.id).find((one) => one.step === step);
    if (sent?.kind !== "sent") return null;
    const lane = this.shared.queues.find(engineQueue, sent.stage, sent.lane);
    return lane === undefined ? null : this.bodyAt(lane, sent.position);
  }

  private bodyAt(lane: MemoryLane, position: number): Buffer | null {
    const isIt = (letter: MemoryLetter): boolean =>
      letter.queue === lane.queue &&
      letter.stage === lane.stage &&
      letter.lane === lane.name &&
      letter.position === position;
    const body = lane.messages.get(position)?.body ?? this.shared.queues.deadLetters.find(isIt)?.body;
    return body === undefined ? null : Buffer.from(body);
  }

  standing(): readonly ConnectionStanding[] {
    const counts = new Map<string, { received: number; routed: number; error: number }>();
    const countsOf = (connection: string) => {
      const known = counts.get(connection) ?? { received: 0, routed: 0, error: 0 };
      counts.set(connection, known);
      return known;
    };
    for (const lane of this.shared.queues.lanesOf(engineQueue)) {
      const depth = Math.max(lane.newest, lane.done) - lane.done;
      if (lane.stage === engineStages.ingress) countsOf(lane.name).received += depth;
      if (lane.stage === engineStages.routed) countsOf(lane.name.split("/", 1)[0] ?? "").routed += depth;
    }
    for (const { queue, stage, lane, headers, redrivenAt } of this.shared.queues.deadLetters) {
      if (queue !== engineQueue || redrivenAt !== null) continue;
      if (headers?.connection !== undefined) countsOf(headers.connection).error += 1;
      if (stage === engineStages.outbound) countsOf(lane.split("/", 1)[0] ?? "").error += 1;
    }
    const all = [...counts].map(([connection, each]) => ({ connection, ...each }));
    return all.sort((one, other) => (one.connection < other.connection ? -1 : 1));
  }

  private messageOf(id: string): MemoryMessage | undefined {
    return isId(id) ? this.shared.engine.messages.get(Number(id)) : undefined;
  }

  private lettersOf(id: number): readonly MemoryLetter[] {
    return this.shared.queues.deadLetters.filter(
      ({ queue, headers }) => queue === engineQueue && headers?.[messageIdHeader] === `${id}`,
    );
  }

  private pendingOf(id: number) {
    const { queues } = this.shared;
    return queues.lanesOf(engineQueue).flatMap((lane) =>
      queues
        .unfinished(lane)
        .filter(({ headers }) => headers?.[messageIdHeader] === `${id}`)
        .map(({ position }) => ({ stage: lane.stage, lane: lane.name, position })),
    );
  }
}

const isId = (id: string): boolean => /^\d{1,15}$/.test(id);

function isOfType(type: string, wanted: string): boolean {
  return type === wanted || (!wanted.includes("^") && type.startsWith(`${wanted}^`));
}
