import type { ConnectionBook, ConnectionReport, ConnectionRow, Stopped } from "../connection-contract.js";
import type { FenceToken } from "../contract.js";

interface Commit {
  onCommit(effect: () => void): void;
}

/** The engine's connections in memory. */
export class MemoryConnectionBook implements ConnectionBook {
  private readonly rows: Map<string, ConnectionRow>;
  private readonly now: () => number;
  private readonly fenced: (fence: FenceToken, fn: (tx: Commit) => Promise<void>) => Promise<void>;

  constructor(rows: Map<string, ConnectionRow>, now: () => number, fenced: MemoryConnectionBook["fenced"]) {
    this.rows = rows;
    this.now = now;
    this.fenced = fenced;
  }

  async all(): Promise<readonly ConnectionRow[]> {
    const rows = [...this.rows.values()];
    return await Promise.resolve(rows.sort((one, other) => (one.name < other.name ? -1 : 1)));
  }

  async setStopped(fence: FenceToken, name: string, stopped: Stopped | null): Promise<void> {
    await this.write(fence, () => {
      const known = this.rows.get(name) ?? { name, state: null, epoch: null, toldAt: null };
      this.rows.set(name, { ...known, stopped: stopped === null ? null : { ...stopped, at: this.now() } });
    });
  }

  async tell(fence: FenceToken, reports: readonly ConnectionReport[]): Promise<void> {
    await this.write(fence, () => {
      const told = new Map(reports.map((report) => [report.name, report]));
      for (const [name, { stopped }] of this.rows) if (stopped === null && !told.has(name)) this.rows.delete(name);
      for (const { name, state } of told.values()) {
        const stopped = this.rows.get(name)?.stopped ?? null;
        this.rows.set(name, { name, stopped, state, epoch: Number(fence.epoch), toldAt: this.now() });
      }
    });
  }

  private async write(fence: FenceToken, effect: () => void): Promise<void> {
    await this.fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(effect)));
  }
}
