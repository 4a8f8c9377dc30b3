import type { LeaseView } from "../election/core/lease.js";

/** Tells whoever watches that a role may have changed hands: by this node's own elections, and by what its beats show of others. */
export class LeadershipNews {
  private readonly watchers = new Set<() => void>();
  private shown = "";

  /** How many watch. */
  get watching(): number {
    return this.watchers.size;
  }

  watch(watcher: () => void): Disposable {
    this.watchers.add(watcher);
    return { [Symbol.dispose]: () => this.watchers.delete(watcher) };
  }

  /** A lease that is renewed is no news, but one that has run out is. */
  hear(leases: readonly LeaseView[]): void {
    const sorted = leases.toSorted((a, b) => (a.role < b.role ? -1 : 1));
    const holders = sorted.map(({ role, epoch, holder, remainingMs }) => [role, `${epoch}`, holder, remainingMs > 0]);
    const shown = JSON.stringify(holders);
    if (shown === this.shown) return;
    this.shown = shown;
    this.tell();
  }

  /** Later, because an election must not wait for those who watch it, nor fail with them. */
  tell(): void {
    for (const watcher of this.watchers) queueMicrotask(watcher);
  }
}
