import type pg from "pg";
import type { Holder } from "../../election/core/lease.js";
import type { Json } from "../../jobs/core/job.js";
import type { FenceToken, Page } from "../contract.js";
import {
  type ConnectionStanding,
  type DepartedLane,
  type EngineBook,
  engineQueue,
  type FoundMessages,
  type IdRange,
  type MessageAccount,
  type MessageFilter,
  type MessageRow,
  type NodeConfig,
  type ReceivedAnswer,
  type ReferenceFailure,
  type ReferenceRow,
  type ReferenceSet,
  type ReferenceVersion,
  type RunningConfig,
  type StateReading,
} from "../engine-contract.js";
import { EngineReading, isMessageId } from "./engine-reading.js";
import { ReferenceBook } from "./engine-references.js";
import { EngineSearch } from "./engine-search.js";
import { WordIndex } from "./engine-word-index.js";
import { quoted, storable } from "./literal.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

/** The message engine on PostgreSQL (migrations/0006_engine.sql). Its journal is written by the queue's own messages. */
export class PostgresEngineBook implements EngineBook {
  private readonly questions: Questions;
  private readonly schema: string;
  private readonly send: FencedMessage;
  private readonly reading: EngineReading;
  private readonly searching: EngineSearch;
  private readonly words: WordIndex;
  private readonly references: ReferenceBook;

  constructor(questions: Questions, send: FencedMessage) {
    this.questions = questions;
    this.schema = questions.schema;
    this.send = send;
    this.reading = new EngineReading(questions);
    this.words = new WordIndex(questions);
    this.references = new ReferenceBook(questions, async (fence, statements) => await this.write(fence, statements));
    this.searching = new EngineSearch(questions, this.words, this.reading);
  }

  async nextMessageId(fence: FenceToken): Promise<IdRange> {
    // Read under the fence: what an earlier leader still writes would be behind it.
    const [range] = await this.write<RangeJson>(fence, [`select * from ${this.schema}.engine_next_id()`]);
    const { next, end } = readRange(range);
    return next < end ? { next, end } : await this.openPartition(fence);
  }

  async openPartition(fence: FenceToken): Promise<IdRange> {
    const [range] = await this.write<RangeJson>(fence, [`select * from ${this.schema}.open_engine_partition()`]);
    return readRange(range);
  }

  async partitionAgeMs(): Promise<number> {
    const [row] = await this.questions.rows<{ age: number }>(
      "looking at the journal's partitions",
      `select coalesce(${this.schema}.ms_between(clock_timestamp(), max(opened_at)), 0)::float8 as age
       from ${this.schema}.engine_partitions`,
    );
    return row?.age ?? 0;
  }

  async dropPartitions(fence: FenceToken, olderThanMs: number): Promise<number> {
    const drop = `select ${this.schema}.drop_engine_partition(${Math.ceil(olderThanMs)})::text as held`;
    for (let dropped = 0; ; ) {
      const [row] = await this.write<{ held: string | null }>(fence, [drop]);
      const held = row?.held ?? null;
      if (held === null) return dropped;
      dropped += Number(held);
    }
  }

  async search(filter: MessageFilter, page: Page): Promise<FoundMessages> {
    return await this.searching.search(filter, page);
  }

  async rows(ids: readonly string[]): Promise<readonly MessageRow[]> {
    return await this.reading.rowsOf(ids.filter(isMessageId).map(Number));
  }

  async message(id: string): Promise<MessageAccount | null> {
    return await this.reading.account(id);
  }

  async bodyOf(id: string): Promise<Buffer | null> {
    return await this.reading.bodyOf(id);
  }

  async sentBodyOf(id: string, step: number): Promise<Buffer | null> {
    return await this.reading.sentBodyOf(id, step);
  }

  async ackOf(place: { readonly lane: number; readonly position: number }): Promise<ReceivedAnswer | null> {
    return await this.reading.ackOf(place);
  }

  async standing(): Promise<readonly ConnectionStanding[]> {
    return await this.reading.standing();
  }

  async indexWords(fence: FenceToken, limit: number): Promise<number> {
    const run = await this.words.nextRun(limit);
    if (run === null) return 0;
    // Lost with the server, it is done again.
    await this.write(fence, ["set local synchronous_commit = off", ...run.statements]);
    return run.messages;
  }

  async departed(fence: FenceToken, lanes: readonly DepartedLane[], limit: number): Promise<number> {
    let left = limit;
    for (const { stage, lane, reason } of lanes) {
      if (left === 0) break;
      const place = [engineQueue, stage, lane, storable(reason)].map(quoted).join(", ");
      const [row] = await this.write<{ buried: number }>(fence, [
        `select ${this.schema}.bury_lane(${place}, ${fence.epoch}, ${left}) as buried`,
      ]);
      left -= row?.buried ?? 0;
    }
    return limit - left;
  }

  async stateVersions(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.questions.rows<{ namespace: string; version: string }>(
      "reading the versions of the state",
      `select namespace, version::text from ${this.schema}.engine_namespaces`,
    );
    return new Map(rows.map(({ namespace, version }) => [namespace, Number(version)]));
  }

  async readState(namespace: string, sinceVersion: number): Promise<StateReading> {
    // One statement, one snapshot: the version is that of what comes with it.
    const [row] = await this.questions.rows<{ version: string; entries: [string, string | null][] }>(
      "reading a namespace",
      `select n.version::text, coalesce((
         select json_agg(json_build_array(s.key, s.value::text) order by s.key) from ${this.schema}.engine_state s
         where s.namespace = n.namespace and s.version > $2), '[]') as entries
       from ${this.schema}.engine_namespaces n where n.namespace = $1`,
      [storable(namespace), sinceVersion],
    );
    const entries = (row?.entries ?? []).map(([key, value]) => ({
      key,
      value: value === null ? undefined : (JSON.parse(value) as Json),
    }));
    return { version: Number(row?.version ?? 0), entries };
  }

  async publishReference(fence: FenceToken, set: ReferenceSet): Promise<ReferenceVersion> {
    return await this.references.publish(fence, set);
  }

  async referenceVersions(): Promise<readonly ReferenceVersion[]> {
    return await this.references.versions();
  }

  async readReference(name: string, version: number): Promise<readonly ReferenceRow[] | null> {
    return await this.references.read(name, version);
  }

  async tellReferenceFailures(fence: FenceToken, failures: readonly Omit<ReferenceFailure, "failedAt">[]) {
    await this.references.tellFailures(fence, failures);
  }

  async referenceFailures(): Promise<readonly ReferenceFailure[]> {
    return await this.references.failures();
  }

  async raiseConfigVersion(): Promise<number> {
    const [row] = await this.questions.rows<{ version: string }>(
      "raising the version of the configuration",
      `update ${this.schema}.meta set config_version = config_version + 1 returning config_version::text as version`,
    );
    return Number(row?.version ?? 0);
  }

  async configVersion(): Promise<number> {
    const [row] = await this.questions.rows<{ version: string }>(
      "reading the version of the configuration",
      `select config_version::text as version from ${this.schema}.meta`,
    );
    return Number(row?.version ?? 0);
  }

  async publishConfig({ nodeId, incarnation }: Pick<Holder, "nodeId" | "incarnation">, config: RunningConfig) {
    const { version, hash, error } = config;
    await this.questions.rows(
      "saying which configuration this node runs",
      `update ${this.schema}.nodes set
         config_incarnation = incarnation, config_loaded = $3, config_hash = $4, config_error = $5
       where node_id = $1 and incarnation = $2`,
      [nodeId, incarnation, version, storable(hash), error === null ? null : storable(error)],
    );
  }

  async configs(): Promise<readonly NodeConfig[]> {
    const rows = await this.questions.rows<ConfigJson>(
      "reading which configurations run",
      `select node_id, config_loaded::text, config_hash, config_error from ${this.schema}.nodes
       where config_incarnation = incarnation order by node_id collate "C"`,
    );
    return rows.map(({ node_id, config_loaded, config_hash, config_error }) => ({
      nodeId: node_id,
      version: Number(config_loaded),
      hash: config_hash,
      error: config_error,
    }));
  }

  /** Answers with the rows of those statements that have some. */
  private async write<Row>(fence: FenceToken, statements: readonly string[]): Promise<readonly Row[]> {
    try {
      const { results } = await this.send(fence, { statements });
      return results.flatMap(({ command, rows }: pg.QueryResult) => (command === "SELECT" ? (rows as Row[]) : []));
    } catch (error) {
      throw toHoldfastError(error, "writing for the message engine");
    }
  }
}

interface RangeJson {
  readonly next_id: string;
  readonly end_id: string;
}

function readRange(range: RangeJson | undefined): IdRange {
  return { next: Number(range?.next_id ?? 0), end: Number(range?.end_id ?? 0) };
}

interface ConfigJson {
  readonly node_id: string;
  readonly config_loaded: string;
  readonly config_hash: string;
  readonly config_error: string | null;
}
