import type { LaneFilter, LaneState, SeenLane, SeenStage } from "../../queue/seen-lane.js";
import type { LetterBody, LetterFilter, SeenLetter } from "../../queue/seen-letter.js";
import type { QueueView } from "../queue-view-contract.js";
import type { Questions } from "./questions.js";

/** What operators see of the queues, by plain readings over the pool. */
export function queueView(questions: Questions): QueueView {
  const sql = statements(questions.schema);
  return {
    async lanes({ queue, stage, lane, state, after, limit }: LaneFilter) {
      if (after !== undefined && !isId(after)) return [];
      const values = [queue ?? null, stage ?? null, lane ?? null, state ?? null, after ?? "0", limit];
      return (await questions.rows<LaneJson>("reading lanes", sql.lanes, values)).map(readLane);
    },
    async stages() {
      return (await questions.rows<StageJson>("reading stages", sql.stages)).map(readStage);
    },
    async deadLetters({ queue, stage, lane, before, limit }: LetterFilter) {
      if (before !== undefined && !isId(before)) return [];
      const values = [queue ?? null, stage ?? null, lane ?? null, before ?? null, limit];
      return (await questions.rows<LetterJson>("reading the dead letters", sql.letters, values)).map(readLetter);
    },
    async deadLetter(id: string) {
      if (!isId(id)) return null;
      const [row] = await questions.rows<LetterJson>("reading a dead letter", sql.letter, [id]);
      return row === undefined ? null : readLetter(row);
    },
    async deadLetterBody(id: string) {
      if (!isId(id)) return null;
      const [row] = await questions.rows<LetterBody>("reading a dead letter's body", sql.body, [id]);
      return row ?? null;
    },
    async oldestMs(queue: string) {
      const [row] = await questions.rows<{ oldest: number | null }>("reading a queue's age", sql.oldest, [queue]);
      return row?.oldest ?? null;
    },
  };
}

const isId = (id: string): boolean => /^\d{1,18}$/.test(id);

function statements(schema: string) {
  // The head of a lane: one probe of the index on (lane, position).
  const head = `
    select ${schema}.ms_between(clock_timestamp(), m.at) from ${schema}.messages m
    where m.lane = l.id and m.segment >= l.done_segment and m.position = l.done + 1`;
  // How deep a lane is is looked for only where nothing before has decided.
  const state = `
    case
      when l.blocked then 'blocked'
      when l.paused then 'paused'
      when l.claimed > l.done then 'in_flight'
      when ${schema}.lane_tail(l) = l.done then 'idle'
      when l.wait_until > clock_timestamp() then 'waiting'
      else 'ready'
    end`;
  // What the row alone rules out: most lanes are neither of these, and how deep those are need not be known.
  const mayBe = `
    case $4::text
      when 'blocked' then l.blocked
      when 'paused' then l.paused
      when 'in_flight' then l.claimed > l.done
      when 'waiting' then l.wait_until > clock_timestamp()
      else true
    end`;
  const letter = `
    d.id::text, d.queue, q.role, d.stage, d.lane, d.position::text, d.key, length(d.body) as size, d.reason, d.attempts,
    d.reclaims, ${schema}.ms_since_1970(d.died_at) as died_at, ${schema}.ms_since_1970(d.redriven_at) as redriven_at,
    d.redriven_to::text
    from ${schema}.dead_letters d join ${schema}.queues q on q.name = d.queue`;
  return {
    lanes: `
      select
        l.id::text, l.queue, q.role, l.stage, l.name as lane, (${schema}.lane_tail(l) - l.done)::text as depth,
        (${head}) as oldest_ms, ${state} as state, l.attempts, l.reclaims, l.paused, l.blocked, l.last_error,
        greatest(0, coalesce(${schema}.ms_between(l.wait_until, clock_timestamp()), 0)) as wait_ms
      from ${schema}.lanes l join ${schema}.queues q on q.name = l.queue
      where ($1::text is null or l.queue = $1) and ($2::text is null or l.stage = $2) and ($3::text is null or l.name = $3)
        and l.id > $5 and ${mayBe} and ($4::text is null or $4 = ${state})
      order by l.id limit $6`,
    // A lane that is not busy is empty, and costs nothing but its own row.
    stages: `
      select
        l.queue, q.role, l.stage, count(*)::int as lanes,
        coalesce(sum(case when l.busy then ${schema}.lane_tail(l) - l.done end), 0)::text as depth,
        max(case when l.busy then (${head}) end) as oldest_ms,
        (count(*) filter (where l.paused))::int as paused, (count(*) filter (where l.blocked))::int as blocked
      from ${schema}.lanes l join ${schema}.queues q on q.name = l.queue
      group by l.queue, q.role, l.stage order by l.queue, min(l.id)`,
    letters: `
      select ${letter}
      where ($1::text is null or d.queue = $1) and ($2::text is null or d.stage = $2) and ($3::text is null or d.lane = $3)
        and ($4::bigint is null or d.id < $4)
      order by d.id desc limit $5`,
    letter: `select ${letter} where d.id = $1`,
    body: `select headers, body from ${schema}.dead_letters where id = $1`,
    oldest: `
      select max(x.ms) as oldest from ${schema}.lanes l cross join lateral (${head}) x(ms) where l.queue = $1 and l.busy`,
  } as const;
}

interface LaneJson {
  id: string;
  queue: string;
  role: string;
  stage: string;
  lane: string;
  depth: string;
  oldest_ms: number | null;
  state: LaneState;
  attempts: number;
  reclaims: number;
  paused: boolean;
  blocked: boolean;
  last_error: string | null;
  wait_ms: number;
}

function readLane({ depth, oldest_ms, last_error, wait_ms, ...rest }: LaneJson): SeenLane {
  return { ...rest, depth: Number(depth), oldestMs: oldest_ms, lastError: last_error, waitMs: wait_ms };
}

interface StageJson extends Omit<SeenStage, "depth" | "oldestMs"> {
  depth: string;
  oldest_ms: number | null;
}

function readStage({ depth, oldest_ms, ...rest }: StageJson): SeenStage {
  return { ...rest, depth: Number(depth), oldestMs: oldest_ms };
}

interface LetterJson {
  id: string;
  queue: string;
  role: string;
  stage: string;
  lane: string;
  position: string;
  key: string | null;
  size: number;
  reason: string;
  attempts: number;
  reclaims: number;
  died_at: number;
  redriven_at: number | null;
  redriven_to: string | null;
}

function readLetter({ position, died_at, redriven_at, redriven_to, ...rest }: LetterJson): SeenLetter {
  return {
    ...rest,
    position: Number(position),
    diedAt: died_at,
    redrivenAt: redriven_at,
    redrivenTo: redriven_to === null ? null : Number(redriven_to),
  };
}
