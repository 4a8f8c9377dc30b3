/** What an election takes of etcd's HTTP interface. Names, values and keys are base64 there, and 64-bit numbers are texts. */
export class EtcdClient {
  private readonly base: string;

  constructor(base: string) {
    this.base = base;
  }

  /** The server may grant a longer lease than it was asked for. */
  async grantLease(ttlSeconds: number): Promise<{ readonly id: string; readonly ttlSeconds: number }> {
    const { ID, TTL } = (await this.post("/v3/lease/grant", { TTL: ttlSeconds })) as { ID: string; TTL: string };
    return { id: ID, ttlSeconds: Number(TTL) };
  }

  async keepLease(id: string): Promise<void> {
    const { result } = (await this.post("/v3/lease/keepalive", { ID: id })) as { result?: { TTL?: string } };
    if (result?.TTL === undefined) throw new Error(`etcd does not know the lease ${id} any more`);
  }

  /** Answers when the election is won, with what a resignation has to name. */
  async campaign(name: string, lease: string): Promise<unknown> {
    const asked = { name: encoded(name), lease, value: encoded(String(process.pid)) };
    const { leader } = (await this.post("/v3/election/campaign", asked)) as { leader: unknown };
    return leader;
  }

  async resign(leader: unknown): Promise<void> {
    await this.post("/v3/election/resign", { leader });
  }

  /** How many contend, the leader among them: each has a key below the election's name. */
  async candidates(name: string): Promise<number> {
    const range = { key: encoded(`${name}/`), range_end: encoded(`${name}0`), count_only: true };
    const { count } = (await this.post("/v3/kv/range", range)) as { count?: string };
    return Number(count ?? 0);
  }

  async isHealthy(): Promise<boolean> {
    try {
      const answer = await fetch(`${this.base}/health`);
      return ((await answer.json()) as { health?: string }).health === "true";
    } catch {
      return false;
    }
  }

  private async post(path: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.base}${path}`, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`etcd: POST ${path}: ${answer.status} ${text.trim()}`);
    return JSON.parse(text) as unknown;
  }
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}
