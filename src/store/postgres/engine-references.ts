import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type { Json } from "../../jobs/core/job.js";
import type { FenceToken } from "../contract.js";
import type { ReferenceFailure, ReferenceRow, ReferenceSet, ReferenceVersion } from "../engine-contract.js";
import { quoted, storable } from "./literal.js";
import type { Questions } from "./questions.js";

/** Answers with the rows of those statements that have some. */
export type WriteFenced = <Row>(fence: FenceToken, statements: readonly string[]) => Promise<readonly Row[]>;

/** So much is written, read and parsed at a time: between two of them leases are renewed and messages go on. */
const chunkCharacters = 262_144;
const chunksAtOnce = 4;

/**
 * Reference sets on PostgreSQL. A set is a draft of many chunks, each written by a transaction of its own, until the last
 * transaction names it: who reads has the old one whole, or the new one.
 */
export class ReferenceBook {
  private readonly questions: Questions;
  private readonly schema: string;
  private readonly write: WriteFenced;

  constructor(questions: Questions, write: WriteFenced) {
    this.questions = questions;
    this.schema = questions.schema;
    this.write = write;
  }

  async publish(fence: FenceToken, { name, hash, rows }: ReferenceSet): Promise<ReferenceVersion> {
    const known = (await this.versions()).find((one) => one.name === storable(name));
    if (known?.hash === storable(hash)) return known;
    // Its own each time: what an earlier try still writes, and nobody has heard of, is never part of it.
    const draft = quoted(randomUUID());
    const place = quoted(storable(name));
    let chunk = 0;
    for (const text of chunksOf(rows)) {
      await this.write(fence, [
        `insert into ${this.schema}.engine_reference_chunks (draft, chunk, name, rows)
         values (${draft}, ${chunk}, ${place}, ${quoted(text)})`,
      ]);
      chunk += 1;
    }
    const [version] = await this.write<VersionJson>(fence, [
      `insert into ${this.schema}.engine_references as r (name, version, hash, size, draft)
       values (${place}, 1, ${quoted(storable(hash))}, ${rows.length}, ${draft})
       on conflict (name) do update set
         version = r.version + 1, hash = excluded.hash, size = excluded.size, draft = excluded.draft,
         published_at = clock_timestamp()
       where r.hash <> excluded.hash`,
      `delete from ${this.schema}.engine_reference_chunks c where name = ${place}
         and draft <> (select r.draft from ${this.schema}.engine_references r where r.name = ${place})`,
      `select ${versionColumns(this.schema)} from ${this.schema}.engine_references r where name = ${place}`,
    ]);
    return readVersion(version as VersionJson);
  }

  async versions(): Promise<readonly ReferenceVersion[]> {
    const rows = await this.questions.rows<VersionJson>(
      "reading the reference sets",
      `select ${versionColumns(this.schema)} from ${this.schema}.engine_references r order by name`,
    );
    return rows.map(readVersion);
  }

  /** Null where another version is there by now, also where it came while this was being read. */
  async read(name: string, version: number): Promise<readonly ReferenceRow[] | null> {
    const [set] = await this.questions.rows<{ draft: string; size: number }>(
      "looking for a reference set",
      `select draft, size from ${this.schema}.engine_references where name = $1 and version = $2`,
      [storable(name), version],
    );
    if (set === undefined) return null;
    const rows: ReferenceRow[] = [];
    for (let next = 0; ; next += chunksAtOnce) {
      const chunks = await this.questions.rows<{ rows: string }>(
        "reading a reference set",
        `select rows from ${this.schema}.engine_reference_chunks
         where draft = $1 and chunk >= $2 and chunk < $3 order by chunk`,
        [set.draft, next, next + chunksAtOnce],
      );
      for (const chunk of chunks) {
        for (const [key, value] of JSON.parse(chunk.rows) as [string, Json][]) rows.push({ key, value });
        await turn();
      }
      if (chunks.length < chunksAtOnce) return rows.length === set.size ? rows : null;
    }
  }

  async tellFailures(fence: FenceToken, failures: readonly Omit<ReferenceFailure, "failedAt">[]): Promise<void> {
    const table = `${this.schema}.engine_reference_failures`;
    const told = quoted(storable(JSON.stringify(failures.map(({ name, reason }) => ({ name, reason })))));
    await this.write(fence, [
      `insert into ${table} as f (name, reason) select x.name, x.reason from json_to_recordset(${told}) x(name text, reason text)
       on conflict (name) do update set reason = excluded.reason, failed_at = clock_timestamp()
       where f.reason <> excluded.reason`,
      `delete from ${table} where name not in (select x.name from json_to_recordset(${told}) x(name text))`,
    ]);
  }

  async failures(): Promise<readonly ReferenceFailure[]> {
    const rows = await this.questions.rows<{ name: string; reason: string; failed_at: number }>(
      "reading which reference sets fail",
      `select name, reason, ${this.schema}.ms_since_1970(failed_at) as failed_at
       from ${this.schema}.engine_reference_failures order by name`,
    );
    return rows.map(({ name, reason, failed_at: failedAt }) => ({ name, reason, failedAt }));
  }
}

/** As text: the database neither looks into it nor changes it, and hands it out as it came. */
function* chunksOf(rows: readonly ReferenceRow[]): Generator<string> {
  let texts: string[] = [];
  let characters = 0;
  for (const { key, value } of rows) {
    const text = JSON.stringify([key, value]);
    texts.push(text);
    characters += text.length;
    if (characters < chunkCharacters) continue;
    yield `[${texts.join(",")}]`;
    texts = [];
    characters = 0;
  }
  if (texts.length > 0) yield `[${texts.join(",")}]`;
}

interface VersionJson {
  readonly name: string;
  readonly version: string;
  readonly hash: string;
  readonly size: number;
  readonly published_at: number;
}

const versionColumns = (schema: string): string =>
  `r.name, r.version::text, r.hash, r.size, ${schema}.ms_since_1970(r.published_at) as published_at`;

function readVersion({ version, size, published_at, ...rest }: VersionJson): ReferenceVersion {
  return { ...rest, version: Number(version), rows: size, publishedAt: published_at };
}
