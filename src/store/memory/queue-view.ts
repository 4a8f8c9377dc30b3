import type { LaneState, SeenLane, SeenStage } from "../../queue/seen-lane.js";
import type { SeenLetter } from "../../queue/seen-letter.js";
import type { QueueView } from "../queue-view-contract.js";
import { pageOf } from "./books.js";
import type { MemoryLane, MemoryLetter, MemoryQueueTables } from "./queue-tables.js";

/** What operators see of the queues in memory. */
export function memoryQueueView(tables: MemoryQueueTables, now: () => number): QueueView {
  const roleOf = (queue: string): string | undefined => tables.queues.get(queue)?.role;

  const seenLane = (lane: MemoryLane): SeenLane => {
    const { tail, waitMs, attempts, reclaims, paused, blocked, lastError } = tables.row(lane);
    const { queue, stage, name, done } = lane;
    const at = lane.messages.get(done + 1)?.at;
    return {
      id: `${lane.id}`,
      queue,
      role: roleOf(queue) ?? "",
      stage,
      lane: name,
      depth: tail - done,
      oldestMs: at === undefined ? null : now() - at,
      state: stateOf(lane, tail, waitMs),
      attempts,
      reclaims,
      waitMs,
      paused,
      blocked,
      lastError,
    };
  };

  const seenLetter = ({ body, headers: _headers, ...letter }: MemoryLetter): SeenLetter => ({
    ...letter,
    role: roleOf(letter.queue) ?? "",
    size: body.length,
  });

  const knownLetters = (): MemoryLetter[] => tables.deadLetters.filter(({ queue }) => roleOf(queue) !== undefined);

  const knownLanes = (): MemoryLane[] => [...tables.lanes.values()].filter(({ queue }) => roleOf(queue) !== undefined);

  return {
    stages: async () => {
      const seen = knownLanes().map(seenLane);
      const names = [...new Set(seen.map(({ queue, stage }) => `${queue}/${stage}`))];
      const stages = names.map((name) => together(seen.filter(({ queue, stage }) => `${queue}/${stage}` === name)));
      return await Promise.resolve(stages.toSorted((a, b) => (a.queue < b.queue ? -1 : a.queue > b.queue ? 1 : 0)));
    },
    lanes: async ({ state, after = "0", limit, ...filter }) => {
      const lanes = knownLanes().filter(({ id }) => id > Number(after));
      const seen = lanes.map(seenLane).filter((lane) => fits(lane, filter) && (state ?? lane.state) === lane.state);
      return await Promise.resolve(seen.slice(0, limit));
    },
    deadLetters: async ({ before, limit, ...filter }) => {
      const letters = knownLetters().filter((letter) => fits(letter, filter));
      const page = before === undefined ? { limit } : { limit, before };
      return await Promise.resolve(pageOf(letters, page).map(seenLetter));
    },
    deadLetter: async (id) => {
      const found = knownLetters().find((letter) => letter.id === id);
      return await Promise.resolve(found === undefined ? null : seenLetter(found));
    },
    deadLetterBody: async (id) => {
      const found = tables.deadLetters.find((letter) => letter.id === id);
      return await Promise.resolve(
        found === undefined ? null : { headers: found.headers, body: Buffer.from(found.body) },
      );
    },
    oldestMs: async (queue) => {
      const ages = tables.lanesOf(queue).flatMap((lane) => (lane.busy ? (seenLane(lane).oldestMs ?? []) : []));
      return await Promise.resolve(ages.length === 0 ? null : Math.max(...ages));
    },
  };
}

function stateOf(lane: MemoryLane, tail: number, waitMs: number): LaneState {
  if (lane.blocked) return "blocked";
  if (lane.paused) return "paused";
  if (lane.claimed > lane.done) return "in_flight";
  if (tail === lane.done) return "idle";
  return waitMs > 0 ? "waiting" : "ready";
}

function together(lanes: readonly SeenLane[]): SeenStage {
  const { queue = "", role = "", stage = "" } = lanes[0] ?? {};
  const ages = lanes.flatMap(({ oldestMs }) => oldestMs ?? []);
  return {
    queue,
    role,
    stage,
    lanes: lanes.length,
    depth: lanes.reduce((sum, { depth }) => sum + depth, 0),
    oldestMs: ages.length === 0 ? null : Math.max(...ages),
    paused: lanes.filter(({ paused }) => paused).length,
    blocked: lanes.filter(({ blocked }) => blocked).length,
  };
}

interface Named {
  readonly queue: string;
  readonly stage: string;
  readonly lane: string;
}

function fits(row: Named, { queue, stage, lane }: { readonly [Name in keyof Named]?: string | undefined }): boolean {
  return (queue ?? row.queue) === row.queue && (stage ?? row.stage) === row.stage && (lane ?? row.lane) === row.lane;
}
