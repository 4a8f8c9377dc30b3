import type { Page } from "../contract.js";
import { engineQueue, engineStages, type FoundMessages, type MessageFilter } from "../engine-contract.js";
import { shownText } from "../engine-text.js";
import { termsOf, wordsOf } from "../engine-words.js";
import { type EngineReading, isMessageId } from "./engine-reading.js";
import type { WordIndex } from "./engine-word-index.js";
import type { Questions } from "./questions.js";

/** After so long a search answers with what it has, and says where to go on. */
const budgetMs = 120;
/** Messages come in the order of their ids, by a clock that may have been set back a little. */
const slackMs = 10_000;
/** How many ids are looked through at a time: few first, since most pages are full then. Partitions are twice the most. */
const firstWindow = 512;
const mostWindow = 500_000;
/** How many runs of the word index are looked into at a time. */
const firstRuns = 2;
const mostRuns = 128;
/** So many are asked for by their ids. */
const mostNamed = 1_024;
/** How many messages that are not in the index yet are looked through at a time. */
const directly = 1_024;
/** Of a lane that waits, the newest so many are looked through. */
const mostPending = 10_000;

interface Range {
  readonly low: number;
  readonly high: number;
}

/** What was found, newest first, and down to where all has been looked through. */
interface Findings {
  readonly ids: readonly number[];
  readonly lookedDownTo: number;
}

/** What a message's own row and its steps have to be like. */
interface Condition {
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  /** The word index knows nothing of it. */
  readonly isOfSteps: boolean;
}

/**
 * Goes from the newest messages to the oldest, a stretch at a time, and stops when the page is full. Each stretch is asked for
 * whole: the planner is never told that few would do, which makes it walk through everything where there are none.
 */
export class EngineSearch {
  private readonly questions: Questions;
  private readonly schema: string;
  private readonly words: WordIndex;
  private readonly reading: EngineReading;

  constructor(questions: Questions, words: WordIndex, reading: EngineReading) {
    this.questions = questions;
    this.schema = questions.schema;
    this.words = words;
    this.reading = reading;
  }

  async search(filter: MessageFilter, { limit, before }: Page): Promise<FoundMessages> {
    const nothing = { items: [], next: null };
    if (before !== undefined && !isMessageId(before)) return nothing;
    const words =
      filter.text === undefined || filter.text === "" ? null : [...new Set(wordsOf(Buffer.from(filter.text)))];
    if (words?.length === 0) return nothing;
    const range = await this.rangeOf(filter, before);
    if (range === null) return nothing;
    const { ids, lookedDownTo } = await this.collect(this.stretches(filter, words, range, limit), limit);
    const items = await this.reading.rowsOf(ids.slice(0, limit), filter.status);
    if (ids.length >= limit) return { items, next: items.at(-1)?.id ?? null };
    return { items, next: lookedDownTo <= range.low ? null : `${lookedDownTo}` };
  }

  private async collect(stretches: AsyncIterable<Findings>, limit: number): Promise<Findings> {
    const begun = performance.now();
    const ids: number[] = [];
    for await (const found of stretches) {
      ids.push(...found.ids);
      if (ids.length >= limit || performance.now() - begun > budgetMs) return { ids, lookedDownTo: found.lookedDownTo };
    }
    return { ids, lookedDownTo: 0 };
  }

  private stretches(
    filter: MessageFilter,
    words: readonly number[] | null,
    range: Range,
    limit: number,
  ): AsyncIterable<Findings> {
    const condition = this.conditionOf(filter);
    if (filter.status === "received" || filter.status === "routed") {
      return this.pending(filter, filter.status, words, range, condition);
    }
    return words === null ? this.windows(range, condition, limit) : this.byWords(filter, words, range, condition);
  }

  /** The ids that the times and the cursor leave; null where there are none. */
  private async rangeOf({ from, until }: MessageFilter, before: string | undefined): Promise<Range | null> {
    const { schema } = this;
    const idAt = (value: string): string =>
      `${schema}.engine_id_at(to_timestamp(${value}::double precision / 1000))::text`;
    const [row] = await this.questions.rows<Record<"lowest" | "highest" | "first" | "last", string | null>>(
      "looking for the messages of a time",
      `select (select min(id) from ${schema}.engine_messages)::text as lowest,
         (select max(id) from ${schema}.engine_messages)::text as highest,
         case when $1::text is not null then ${idAt("$1")} end as first,
         case when $2::text is not null then ${idAt("$2")} end as last`,
      [from === undefined ? null : from - slackMs, until === undefined ? null : until + slackMs],
    );
    const { lowest = null, highest = null, first = null, last = null } = row ?? {};
    if (lowest === null || highest === null || (from !== undefined && first === null)) return null;
    const low = Number(first ?? lowest);
    const below = before === undefined ? Number.POSITIVE_INFINITY : Number(before);
    const high = Math.min(Number(highest), Number(last ?? highest), below - 1);
    return low > high ? null : { low, high };
  }

  /** Parameters are counted from $3 on; $1 and $2 are the stretch. */
  private conditionOf({ from, until, connection, type, controlId, status }: MessageFilter): Condition {
    const texts: string[] = [];
    const values: unknown[] = [];
    const add = (text: (parameter: string) => string, value: unknown): void => {
      values.push(value);
      texts.push(text(`$${values.length + 2}`));
    };
    const time = (parameter: string): string => `to_timestamp(${parameter}::double precision / 1000)`;
    if (from !== undefined) add((p) => `e.received_at >= ${time(p)}`, from);
    if (until !== undefined) add((p) => `e.received_at < ${time(p)}`, until);
    if (connection !== undefined) add((p) => `e.connection = ${p}`, shownText.connection(connection));
    if (controlId !== undefined) add((p) => `e.control_id = ${p}`, shownText.controlId(controlId));
    if (type?.includes("^") === true) add((p) => `e.type = ${p}`, shownText.type(type));
    // In the order of "C", what begins with `ADT^` lies between that and `ADT_`.
    else if (type !== undefined) {
      add((p) => `(e.type = ${p} or e.type >= ${p} || '^' and e.type < ${p} || '_')`, shownText.type(type));
    }
    // What waits is looked for in the queue.
    const isOfSteps = status !== undefined && status !== "received" && status !== "routed";
    if (status === "error") texts.push(this.isInError());
    else if (isOfSteps) {
      add((p) => `e.id in (select s.id from ${this.schema}.engine_steps s where s.kind = ${p})`, status);
    }
    return { texts, values, isOfSteps };
  }

  private isInError(): string {
    const { schema } = this;
    return `e.id in (
      select ${schema}.journal_id(d.headers) from ${schema}.dead_letters d
      where d.queue = '${engineQueue}' and d.redriven_at is null)`;
  }

  private async *windows({ low, high }: Range, condition: Condition, limit: number): AsyncGenerator<Findings> {
    for (let [top, width] = [high, firstWindow]; top >= low; ) {
      // Not over the border of a partition, where ids may have a gap.
      const bottom = Math.max(low, top - width + 1, top - (top % mostWindow));
      yield { ids: await this.within("e.id between $1 and $2", [bottom, top], condition, limit), lookedDownTo: bottom };
      top = bottom - 1;
      width = Math.min(width * 8, mostWindow);
    }
  }

  /** All of a stretch that fit, newest first, or the newest `limit` of them. */
  private async within(
    stretch: string,
    bounds: readonly unknown[],
    { texts, values }: Condition,
    limit: number | null = null,
  ): Promise<readonly number[]> {
    const rows = await this.questions.rows<{ id: string }>(
      "searching messages",
      `with found as materialized (
         select e.id from ${this.schema}.engine_messages e
         where ${[stretch, "$2::bigint is not null", ...texts].join(" and ")}
       )
       select id::text as id from found order by found.id desc limit ${limit ?? "all"}`,
      [...bounds, ...values],
    );
    return rows.map(({ id }) => Number(id));
  }

  private async fitting(ids: readonly number[], condition: Condition): Promise<readonly number[]> {
    if (ids.length === 0 || condition.texts.length === 0) return ids;
    if (ids.length <= mostNamed) return await this.within("e.id = any ($1::bigint[])", [ids, 0], condition);
    // Many are compared here, with all that fit between the first and the last.
    const fit = new Set(await this.within("e.id between $1 and $2", [ids.at(-1), ids[0]], condition));
    return ids.filter((id) => fit.has(id));
  }

  /** What waits in a stage, by what the queue holds: lanes in which nothing waits cost nothing. */
  private async *pending(
    { connection }: MessageFilter,
    status: "received" | "routed",
    words: readonly number[] | null,
    { low, high }: Range,
    condition: Condition,
  ): AsyncGenerator<Findings> {
    const { schema } = this;
    const rows = await this.questions.rows<{ id: string }>(
      "looking for what waits",
      `select distinct m.id::text as id from ${schema}.lanes l cross join lateral (
         select ${schema}.journal_id(m.headers) as id from ${schema}.messages m
         where m.lane = l.id and m.segment >= l.done_segment and m.position > l.done
         order by m.position desc limit ${mostPending}
       ) m
       where l.queue = '${engineQueue}' and l.stage = $1 and l.busy and m.id between $2 and $3
         and ($4::text is null or split_part(l.name, '/', 1) = $4)`,
      [status === "received" ? engineStages.ingress : engineStages.routed, low, high, connection ?? null],
    );
    const waiting = rows.map(({ id }) => Number(id)).sort((one, other) => other - one);
    for (let from = 0; from < waiting.length; from += directly) {
      const some = waiting.slice(from, from + directly);
      const ids = await this.within("e.id = any ($1::bigint[])", [some, 0], condition);
      yield {
        ids: words === null ? ids : await this.words.among(ids, words),
        lookedDownTo: some.at(-1) ?? low,
      };
    }
  }

  /** First what is too new to be in the index. */
  private async *byWords(
    filter: MessageFilter,
    words: readonly number[],
    { low, high }: Range,
    condition: Condition,
  ): AsyncGenerator<Findings> {
    const indexed = await this.words.indexedUpTo();
    for (let top = high; top > indexed && top >= low; ) {
      const looked = await this.words.directly(Math.max(low, indexed + 1), top, words, directly);
      yield { ids: await this.fitting(looked.found, condition), lookedDownTo: looked.lookedDownTo };
      top = looked.lookedDownTo - 1;
    }
    if (indexed < low) return;
    const runs = await this.words.runs(low, Math.min(high, indexed));
    const terms = [...words, ...ownTerms(filter)];
    for (let [from, count] = [0, firstRuns]; from < runs.length; ) {
      const some = runs.slice(from, from + count);
      const bottom = Math.max(low, some.at(-1) ?? low);
      const top = from === 0 ? high : (runs[from - 1] ?? high) - 1;
      yield { ids: await this.inRuns(some, terms, { low: bottom, high: top }, condition), lookedDownTo: bottom };
      from += count;
      count = Math.min(count * 8, mostRuns);
    }
  }

  /** Where few are of a status, most runs need not be looked into. */
  private async inRuns(runs: readonly number[], terms: readonly number[], range: Range, condition: Condition) {
    const { low, high } = range;
    if (!condition.isOfSteps) {
      const found = await this.words.inRuns(runs, terms);
      return await this.fitting(
        found.filter((id) => id >= low && id <= high),
        condition,
      );
    }
    const fit = new Set(await this.within("e.id between $1 and $2", [low, high], condition));
    return fit.size === 0 ? [] : (await this.words.inRuns(runs, terms)).filter((id) => fit.has(id));
  }
}

/** What the index holds of the row: with these, two things that are common but never come together are none there. */
function ownTerms({ connection, type, controlId }: MessageFilter): readonly number[] {
  return [
    ...(connection === undefined ? [] : [termsOf.connection(shownText.connection(connection))]),
    ...(type === undefined ? [] : [termsOf.type(shownText.type(type))]),
    ...(controlId === undefined ? [] : [termsOf.controlId(shownText.controlId(controlId))]),
  ];
}
