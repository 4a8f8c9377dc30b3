import { monotonicMs } from "../clock.js";
import type { NodeTask } from "../node-order.js";
import type { Scene, Workload } from "../workload.js";
import { untilAborted } from "./pace.js";
import { Sinks } from "./sinks.js";
import { atDatabase } from "./until-settled.js";

const table = "torture.register";

/**
 * The number that leaders count up, and its second witness: a line for each change, written by a trigger within the same transaction,
 * which nothing can change or take back. The lock of the one row is held when the line gets its number, so the numbers are in the order
 * of commits.
 */
const tables = `
CREATE SCHEMA IF NOT EXISTS torture;
CREATE TABLE ${table} (one boolean PRIMARY KEY DEFAULT true CHECK (one), value bigint NOT NULL, epoch bigint NOT NULL);
INSERT INTO ${table} (value, epoch) VALUES (0, 0);
CREATE TABLE torture.witness (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  epoch bigint NOT NULL, before bigint NOT NULL, after bigint NOT NULL);
CREATE FUNCTION torture.bear_witness() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO torture.witness (epoch, before, after) VALUES (new.epoch, old.value, new.value);
  RETURN new;
END $$;
CREATE TRIGGER witness AFTER UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION torture.bear_witness();
CREATE FUNCTION torture.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Nothing of this is changed or taken back.';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON torture.witness
  FOR EACH STATEMENT EXECUTE FUNCTION torture.refuse();
CREATE TRIGGER stays BEFORE DELETE OR TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION torture.refuse();
`;

/** Read-modify-write under role "writer", which the node processes do by themselves, and the sinks that they tell. */
export class Register implements Workload {
  readonly name = "register";
  private readonly everyMs: number;
  private sinks: Sinks | null = null;

  constructor({ everyMs = 10 }: { readonly everyMs?: number } = {}) {
    this.everyMs = everyMs;
  }

  async prepare({ directUrl, outsideHost, log }: Scene): Promise<Partial<NodeTask>> {
    this.sinks = await Sinks.listen(outsideHost, log);
    await atDatabase(directUrl, (client) => client.query(tables));
    return { writer: { table, everyMs: this.everyMs, sinks: this.sinks.urls } };
  }

  async run({ signal }: Scene): Promise<void> {
    await untilAborted(signal);
  }

  /** From here on every write is refused, so that the witness is whole when it is read. */
  async settle({ directUrl, log }: Scene): Promise<void> {
    const { rows } = await atDatabase(directUrl, async (client) => {
      await client.query(`CREATE OR REPLACE TRIGGER closed BEFORE UPDATE ON ${table}
        FOR EACH STATEMENT EXECUTE FUNCTION torture.refuse()`);
      return await client.query<Record<"n" | "epoch" | "before" | "after", string>>(
        "SELECT * FROM torture.witness ORDER BY n",
      );
    });
    for (const { n, epoch, before, after } of rows) {
      const line = { n: Number(n), epoch, before: Number(before), after: Number(after) };
      log({ by: "witness", at: monotonicMs(), kind: "witness", role: "writer", ...line });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sinks?.[Symbol.asyncDispose]();
  }
}
