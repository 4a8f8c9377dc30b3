import type { Page } from "../contract.js";
import { engineQueue, engineStages, type FoundMessages, type MessageFilter } from "../engine-contract.js";
import { shownText } from "../engine-text.js";
import { termsOf, wordsOf } from "../engine-words.js";
import { type Condition, conditionOf, idsOf, isOfSteps, type StepStatus } from "./engine-condition.js";
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

/** Ids from the first to the last of two, or each of them. */
type Stretch = { readonly from: number; readonly to: number } | { readonly each: readonly number[] };

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
    if (ids.length >= limit) return { items, next: `${ids[limit - 1] ?? range.low}` };
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
    const condition = conditionOf(this.schema, filter);
    if (filter.status === "received" || filter.status === "routed") {
      return this.pending(filter, filter.status, words, range, condition);
    }
    if (words === null && condition.texts.length === 1 && isOfSteps(filter.status)) {
      return this.byStatus(filter.status, range, limit);
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

  /** The newest that have a status, as often as they have it; so many at most. */
  private async newestOf(status: StepStatus, { low, high }: Range, most: number): Promise<readonly number[]> {
    const those = idsOf(this.schema, status, "$3::text")((column) => `${column} between $1::bigint and $2::bigint`);
    const rows = await this.questions.rows<{ id: string }>(
      "looking for a status",
      `select x.id::text as id from (${those} order by 1 desc limit ${Math.ceil(most)}) x`,
      [low, high, status],
    );
    return rows.map(({ id }) => Number(id));
  }

  /** By nothing but a status: its index has them in order. */
  private async *byStatus(status: StepStatus, { low, high }: Range, limit: number): AsyncGenerator<Findings> {
    const most = Math.ceil(4 * limit) + 1;
    for (let top = high; top >= low; ) {
      const found = await this.newestOf(status, { low, high: top }, most);
      const lowest = found.length < most ? low : (found.at(-1) ?? low);
      yield { ids: [...new Set(found)], lookedDownTo: lowest };
      top = lowest - 1;
    }
  }

  private async *windows({ low, high }: Range, condition: Condition, limit: number): AsyncGenerator<Findings> {
    for (let [top, width] = [high, firstWindow]; top >= low; ) {
      // Not over the border of a partition, where ids may have a gap.
      const bottom = Math.max(low, top - width + 1, top - (top % mostWindow));
      yield { ids: await this.within({ from: bottom, to: top }, condition, limit), lookedDownTo: bottom };
      top = bottom - 1;
      width = Math.min(width * 4, mostWindow);
    }
  }

  /** All of a stretch that fit, newest first, or the newest `limit` of them. */
  private async within(
    stretch: Stretch,
    { texts, values }: Condition,
    limit: number | null = null,
  ): Promise<readonly number[]> {
    const isEach = "each" in stretch;
    const isInStretch = (column: string): string =>
      isEach ? `${column} = any ($1::bigint[])` : `${column} between $1::bigint and $2::bigint`;
    const conditions = [isInStretch("e.id"), "$2::bigint is not null", ...texts.map((text) => text(isInStretch))];
    const rows = await this.questions.rows<{ id: string }>(
      "searching messages",
      `with found as materialized (
         select e.id from ${this.schema}.engine_messages e
         where ${conditions.join(" and ")}
       )
       select id::text as id from found order by found.id desc limit ${limit === null ? "all" : Math.ceil(limit)}`,
      [...(isEach ? [stretch.each, 0] : [stretch.from, stretch.to]), ...values],
    );
    return rows.map(({ id }) => Number(id));
  }

  private async fitting(ids: readonly number[], condition: Condition): Promise<readonly number[]> {
    if (ids.length === 0 || condition.texts.length === 0) return ids;
    if (ids.length <= mostNamed) return await this.within({ each: ids }, condition);
    // Many are compared here, with all that fit between the first and the last.
    const fit = new Set(await this.within({ from: ids.at(-1) ?? 0, to: ids[0] ?? 0 }, condition));
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
      const ids = await this.within({ each: some }, condition);
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
      const stretch = {
        low: Math.max(low, some.at(-1) ?? low),
        high: from === 0 ? high : (runs[from - 1] ?? high) - 1,
      };
      // Where few are of a status, most of what has the words need not be looked at.
      const named = isOfSteps(filter.status) ? await this.newestOf(filter.status, stretch, mostNamed + 1) : null;
      const few = named === null || named.length > mostNamed ? null : new Set(named);
      const found = few?.size === 0 ? [] : await this.words.inRuns(some, terms);
      const ids = found.filter((id) => id >= low && id <= high && few?.has(id) !== false);
      yield { ids: await this.fitting(ids, condition), lookedDownTo: stretch.low };
      from += count;
      count = Math.min(count * 8, mostRuns);
    }
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
