import { setImmediate } from "node:timers/promises";
import { bucketOf, placesIn, searchedBytes, WordRun, wordsOf } from "../engine-words.js";
import { quoted } from "./literal.js";
import type { Questions } from "./questions.js";

/** Ids of a run lie less far apart than this: a place in it is two bytes. */
const widestRun = 65_536;
/** So many are looked at before the rest of the process has its turn. */
const stride = 64;
/** So much is read at a time, about. */
const mostBytes = 8 * 1_048_576;

interface BodyJson {
  id: string;
  connection: string;
  type: string;
  control_id: string;
  body: Buffer | null;
}

/**
 * Which messages have which words. The leader builds it behind the intake, a run of messages at a time; what is not in it yet
 * is looked through as it is.
 */
export class WordIndex {
  private readonly questions: Questions;
  private readonly schema: string;

  constructor(questions: Questions) {
    this.questions = questions;
    this.schema = questions.schema;
  }

  /** The next run, of `limit` messages or what is left of a partition that is closed; null where there is none yet. */
  async nextRun(limit: number): Promise<{ readonly messages: number; readonly statements: readonly string[] } | null> {
    const [range] = await this.questions.rows<{ first: string; size: string }>(
      "looking for messages to index",
      `with last as (select coalesce(max(last_id), -1) + 1 as next from ${this.schema}.engine_word_runs),
       home as (
         select greatest(p.first_id, last.next) as first, p.first_id + 1000000 as end_id,
           p.number < (select max(number) from ${this.schema}.engine_partitions) as closed
         from ${this.schema}.engine_partitions p, last
         where exists (
           select from ${this.schema}.engine_messages e
           where e.id >= greatest(p.first_id, last.next) and e.id < p.first_id + 1000000)
         order by p.number limit 1
       ), run as (
         select e.id from home, lateral (
           select id from ${this.schema}.engine_messages
           where id >= home.first and id < home.end_id order by id limit $1) e
       )
       select min(id)::text as first, count(*)::text as size from run, home
       group by home.closed having count(*) >= $1 or home.closed`,
      [limit],
    );
    if (range === undefined) return null;
    const firstId = Number(range.first);
    const run = new WordRun(firstId);
    let lastId = firstId;
    let messages = 0;
    for await (const { id, message, body } of this.bodies(firstId, Number(range.size))) {
      if (id - firstId >= widestRun) break;
      run.add(id, message, body);
      lastId = id;
      messages += 1;
    }
    return { messages, statements: this.statements(run, lastId) };
  }

  private statements(run: WordRun, lastId: number): readonly string[] {
    const rows = [...run.packed()].map(([bucket, bytes]) => ({ bucket, postings: bytes.toString("base64") }));
    return [
      `insert into ${this.schema}.engine_word_runs (first_id, last_id) values (${run.firstId}, ${lastId})`,
      `insert into ${this.schema}.engine_words (bucket, first_id, postings)
       select x.bucket, ${run.firstId}, decode(x.postings, 'base64')
       from json_to_recordset(${quoted(JSON.stringify(rows))}) x(bucket smallint, postings text)`,
    ];
  }

  /** These and what follows, in order; the process is not held up meanwhile. */
  private async *bodies(firstId: number, count: number) {
    let [next, left] = [firstId, count];
    while (left > 0) {
      const rows = await this.read("e.id >= $1", "e.id", [next], left);
      for (const [index, { id, connection, type, control_id, body }] of rows.entries()) {
        if (index % stride === stride - 1) await setImmediate();
        yield { id: Number(id), message: { connection, type, controlId: control_id }, body };
      }
      if (rows.length === 0) return;
      next = Number(rows.at(-1)?.id) + 1;
      left -= rows.length;
    }
  }

  /** Up to so many, or fewer where their bodies are large; one at least. */
  private async read(condition: string, order: string, values: readonly unknown[], most: number) {
    return await this.questions.rows<BodyJson>(
      "reading messages to search",
      `select e.id::text, e.connection, e.type, e.control_id, substring(m.body from 1 for ${searchedBytes + 1}) as body
       from (
         select e.*, sum(least(e.size, ${searchedBytes})) over (order by ${order}) - least(e.size, ${searchedBytes}) as before
         from (
           select * from ${this.schema}.engine_messages e where ${condition} order by ${order} limit ${most}
         ) e
       ) e
       left join ${this.schema}.messages m
         on m.lane = e.lane and m.position = e.position and m.segment = e.segment
       where e.before <= ${mostBytes}
       order by ${order}`,
      values,
    );
  }

  /** Up to which id there are runs. */
  async indexedUpTo(): Promise<number> {
    const [row] = await this.questions.rows<{ last: string | null }>(
      "reading how far the words are indexed",
      `select max(last_id)::text as last from ${this.schema}.engine_word_runs`,
    );
    return Number(row?.last ?? 0);
  }

  /** Those of these messages that have all the words, by their bodies. */
  async among(ids: readonly number[], words: readonly number[]): Promise<readonly number[]> {
    const found: number[] = [];
    for (let left = ids; left.length > 0; ) {
      const rows = await this.read("e.id = any ($1)", "e.id desc", [left], left.length);
      if (rows.length === 0) break;
      found.push(...(await matching(rows, words)));
      const last = Number(rows.at(-1)?.id);
      left = left.filter((id) => id < last);
    }
    return found;
  }

  /** Those that have all the words among the newest `count` messages from `high` down to `low`; and how far that was. */
  async directly(low: number, high: number, words: readonly number[], count: number) {
    const rows = await this.read("e.id between $1 and $2", "e.id desc", [low, high], count);
    const found = await matching(rows, words);
    const lowest = rows.length === 0 ? low : Number(rows.at(-1)?.id);
    return { found, lookedDownTo: lowest };
  }

  /** The runs that begin from `low` to `high`, newest first. */
  async runs(low: number, high: number): Promise<readonly number[]> {
    const rows = await this.questions.rows<{ first: string }>(
      "reading the runs of words",
      `select first_id::text as first from ${this.schema}.engine_word_runs
       where last_id >= $1 and first_id <= $2 order by first_id desc`,
      [low, high],
    );
    return rows.map(({ first }) => Number(first));
  }

  /** The messages of these runs that have all the terms, newest first. */
  async inRuns(runs: readonly number[], terms: readonly number[]): Promise<readonly number[]> {
    const buckets = [...new Set(terms.map(bucketOf))];
    const rows = await this.questions.rows<{ bucket: number; first: string; postings: Buffer }>(
      "looking words up",
      `select bucket, first_id::text as first, postings from ${this.schema}.engine_words
       where bucket = any ($1::smallint[]) and first_id between $2 and $3`,
      [buckets, runs.at(-1), runs[0]],
    );
    const packed = new Map(rows.map(({ bucket, first, postings }) => [`${first} ${bucket}`, postings]));
    return runs.flatMap((first) => {
      const places = terms.map((term) => {
        const bytes = packed.get(`${first} ${bucketOf(term)}`);
        return bytes === undefined ? [] : placesIn(bytes, term);
      });
      return inAll(places).map((place) => first + place);
    });
  }
}

async function matching(rows: readonly BodyJson[], words: readonly number[]): Promise<readonly number[]> {
  const found: number[] = [];
  for (const [index, { id, body }] of rows.entries()) {
    if (index % stride === stride - 1) await setImmediate();
    if (body === null) continue;
    const there = new Set(wordsOf(body));
    if (words.every((word) => there.has(word))) found.push(Number(id));
  }
  return found;
}

/** What comes in all of these lists, which are in order; the last first. */
function inAll(lists: readonly (readonly number[])[]): readonly number[] {
  const [shortest = [], ...others] = [...lists].sort((one, other) => one.length - other.length);
  if (shortest.length === 0) return [];
  const sets = others.map((list) => new Set(list));
  return shortest.filter((place) => sets.every((set) => set.has(place))).reverse();
}
