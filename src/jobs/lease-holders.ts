/** Whose leases they are: the last ones that this node has given out, for callers that do not say for whom they speak. */
export class LeaseHolders {
  private readonly agents = new Map<string, string>();

  remember(leaseId: string, agent: string): void {
    this.agents.set(leaseId, agent);
    if (this.agents.size <= mostRemembered) return;
    for (const oldest of this.agents.keys()) {
      this.agents.delete(oldest);
      return;
    }
  }

  of(leaseId: string): string | null {
    return this.agents.get(leaseId) ?? null;
  }
}

const mostRemembered = 20_000;
