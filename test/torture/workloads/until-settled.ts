import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";

const lookEveryMs = 250;
const stuckMs = 60_000;
const quietMs = 3_000;

/** Runs one piece of work at the database, in a session of its own; tries again for a while where the server is not there yet. */
export async function atDatabase<Result>(
  url: () => string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + stuckMs;
  for (;;) {
    const client = new Client({ connectionString: url(), connectionTimeoutMillis: 5_000 });
    // The end of the session is told by the query that it cuts off.
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await work(client);
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(lookEveryMs);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/**
 * Resolves when `left` has been 0 for a while: what was given up by whoever asked for it may still be on its way in. It may take as
 * long as it takes while it goes down; it rejects when it has not for a minute.
 */
export async function untilNoneLeft(what: string, left: () => Promise<number>): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  let since = performance.now();
  for (;;) {
    const now = await left();
    if (now === 0 && performance.now() - since > quietMs) return;
    if (now < fewest || (fewest === 0 && now > 0)) {
      fewest = now;
      since = performance.now();
    }
    if (performance.now() - since > stuckMs) throw new Error(`${what}: ${now} are left, and nothing moves any more.`);
    await pause(lookEveryMs);
  }
}
