import type { Holder } from "../../election/core/lease.js";
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
  messageIdHeader,
  type NodeConfig,
  type ReceivedAnswer,
  type ReferenceFailure,
  type ReferenceRow,
  type ReferenceSet,
  type ReferenceVersion,
  type RunningConfig,
  type StateReading,
} from "../engine-contract.js";
import type { MemoryCluster } from "./cluster.js";
import { MemoryEngineReading } from "./engine-reading.js";

interface Commit {
  onCommit(effect: () => void): void;
}

type Fenced = (fence: FenceToken, fn: (tx: Commit) => Promise<void>) => Promise<void>;

/** The message engine's book in memory. */
export class MemoryEngineBook implements EngineBook {
  private readonly shared: MemoryCluster;
  private readonly reading: MemoryEngineReading;
  private readonly fenced: Fenced;

  constructor(shared: MemoryCluster, fenced: Fenced) {
    this.shared = shared;
    this.reading = new MemoryEngineReading(shared);
    this.fenced = fenced;
  }

  private async write<Result>(fence: FenceToken, apply: () => Result): Promise<Result> {
    const written: Result[] = [];
    await this.fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(() => written.push(apply()))));
    return written[0] as Result;
  }

  async nextMessageId(fence: FenceToken): Promise<IdRange> {
    const { engine } = this.shared;
    return await this.write(fence, () => {
      const known = engine.nextId();
      return known !== null && known.next < known.end ? known : engine.openPartition();
    });
  }

  async openPartition(fence: FenceToken): Promise<IdRange> {
    return await this.write(fence, () => this.shared.engine.openPartition());
  }

  async partitionAgeMs(): Promise<number> {
    return await Promise.resolve(this.shared.engine.partitionAgeMs());
  }

  async dropPartitions(fence: FenceToken, olderThanMs: number): Promise<number> {
    return await this.write(fence, () => {
      let dropped = 0;
      for (;;) {
        const held = this.shared.engine.dropPartition(olderThanMs);
        if (held === null) return dropped;
        dropped += held;
      }
    });
  }

  async search(filter: MessageFilter, page: Page): Promise<FoundMessages> {
    return await Promise.resolve(this.reading.search(filter, page));
  }

  async rows(ids: readonly string[]): Promise<readonly MessageRow[]> {
    return await Promise.resolve(this.reading.rows(ids));
  }

  async message(id: string): Promise<MessageAccount | null> {
    return await Promise.resolve(this.reading.account(id));
  }

  async bodyOf(id: string): Promise<Buffer | null> {
    return await Promise.resolve(this.reading.bodyOf(id));
  }

  async sentBodyOf(id: string, step: number): Promise<Buffer | null> {
    return await Promise.resolve(this.reading.sentBodyOf(id, step));
  }

  async ackOf({
    lane,
    position,
  }: {
    readonly lane: number;
    readonly position: number;
  }): Promise<ReceivedAnswer | null> {
    const id = this.shared.queues.lanes.get(lane)?.messages.get(position)?.headers?.[messageIdHeader];
    const message = this.shared.engine.messages.get(Number(id));
    return await Promise.resolve(message === undefined ? null : { id: `${message.id}`, ack: message.ack });
  }

  async indexWords(fence: FenceToken, limit: number): Promise<number> {
    const { engine } = this.shared;
    return await this.write(fence, () => {
      const run = engine.nextToIndex(limit);
      engine.indexedUpTo = run.at(-1) ?? engine.indexedUpTo;
      return run.length;
    });
  }

  async departed(fence: FenceToken, lanes: readonly DepartedLane[], limit: number): Promise<number> {
    const { queues } = this.shared;
    return await this.write(fence, () => {
      let left = limit;
      for (const { stage, lane: name, reason } of lanes) {
        const lane = queues.find(engineQueue, stage, name);
        if (lane === undefined || (lane.claimed > lane.done && lane.claimEpoch >= fence.epoch)) continue;
        const before = left;
        for (; left > 0 && lane.messages.has(lane.done + 1); left -= 1) {
          Object.assign(lane, { claimed: lane.done, claim: 0, leasedUntil: null });
          queues.bury(lane, reason, lane.attempts);
        }
        if (left < before) Object.assign(lane, { steered: true, busy: true });
      }
      return limit - left;
    });
  }

  async standing(): Promise<readonly ConnectionStanding[]> {
    return await Promise.resolve(this.reading.standing());
  }

  async stateVersions(): Promise<ReadonlyMap<string, number>> {
    const versions = [...this.shared.engine.namespaces].map(([name, { version }]) => [name, version] as const);
    return await Promise.resolve(new Map(versions));
  }

  async readState(namespace: string, sinceVersion: number): Promise<StateReading> {
    const found = this.shared.engine.namespaces.get(namespace);
    const changed = [...(found?.entries ?? [])].filter(([, { version }]) => version > sinceVersion);
    const entries = changed.sort(([one], [other]) => (one < other ? -1 : 1));
    return await Promise.resolve({
      version: found?.version ?? 0,
      entries: entries.map(([key, { value }]) => ({ key, value: structuredClone(value) })),
    });
  }

  async publishReference(fence: FenceToken, { name, hash, rows }: ReferenceSet): Promise<ReferenceVersion> {
    const { engine, database } = this.shared;
    return await this.write(fence, () => {
      const known = engine.references.get(name)?.version;
      if (known?.hash === hash) return known;
      const version = {
        name,
        version: (known?.version ?? 0) + 1,
        hash,
        rows: rows.length,
        publishedAt: database.now(),
      };
      engine.references.set(name, { version, rows: structuredClone(rows) });
      return version;
    });
  }

  async referenceVersions(): Promise<readonly ReferenceVersion[]> {
    const versions = [...this.shared.engine.references.values()].map(({ version }) => version);
    return await Promise.resolve(versions.sort((one, other) => (one.name < other.name ? -1 : 1)));
  }

  async readReference(name: string, version: number): Promise<readonly ReferenceRow[] | null> {
    const found = this.shared.engine.references.get(name);
    return await Promise.resolve(found?.version.version === version ? structuredClone(found.rows) : null);
  }

  async tellReferenceFailures(fence: FenceToken, failures: readonly Omit<ReferenceFailure, "failedAt">[]) {
    const { engine, database } = this.shared;
    await this.write(fence, () => {
      const before = new Map(engine.referenceFailures);
      engine.referenceFailures.clear();
      for (const { name, reason } of failures) {
        const known = before.get(name);
        const isSame = known?.reason === reason;
        engine.referenceFailures.set(name, isSame ? known : { name, reason, failedAt: database.now() });
      }
    });
  }

  async referenceFailures(): Promise<readonly ReferenceFailure[]> {
    const failures = [...this.shared.engine.referenceFailures.values()];
    return await Promise.resolve(failures.sort((one, other) => (one.name < other.name ? -1 : 1)));
  }

  async raiseConfigVersion(): Promise<number> {
    this.shared.engine.configVersion += 1;
    return await Promise.resolve(this.shared.engine.configVersion);
  }

  async configVersion(): Promise<number> {
    return await Promise.resolve(this.shared.engine.configVersion);
  }

  async publishConfig({ nodeId, incarnation }: Pick<Holder, "nodeId" | "incarnation">, config: RunningConfig) {
    if (this.shared.nodes.get(nodeId)?.incarnation === incarnation) {
      this.shared.engine.configs.set(nodeId, { ...config, nodeId, incarnation });
    }
    await Promise.resolve();
  }

  async configs(): Promise<readonly NodeConfig[]> {
    const said = [...this.shared.engine.configs.values()].filter(
      ({ nodeId, incarnation }) => this.shared.nodes.get(nodeId)?.incarnation === incarnation,
    );
    return await Promise.resolve(
      said.map(({ incarnation: _, ...config }) => config).sort((one, other) => (one.nodeId < other.nodeId ? -1 : 1)),
    );
  }
}
