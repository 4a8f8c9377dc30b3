import type { Incarnation, NodeId } from "../../election/core/names.js";
import type { MetricsSnapshot, SnapshotBook } from "../contract.js";
import type { Questions } from "./questions.js";

/** The rows of `snapshots`: the metrics of each process as it last left them. */
export function snapshotBook(
  questions: Questions,
  { nodeId, incarnation }: { readonly nodeId: NodeId; readonly incarnation: Incarnation },
): SnapshotBook {
  const { schema } = questions;
  return {
    async save(text: string): Promise<void> {
      await questions.rows("leaving a copy of the metrics", `select ${schema}.save_snapshot($1, $2, $3)`, [
        nodeId,
        incarnation,
        text,
      ]);
    },
    async all(): Promise<readonly MetricsSnapshot[]> {
      const rows = await questions.rows<{ node_id: string; age_ms: number; body: string }>(
        "reading the metrics of all nodes",
        `select node_id, ${schema}.ms_between(clock_timestamp(), at) as age_ms, body from ${schema}.snapshots s
         where ${schema}.is_living(s.node_id, s.incarnation) order by node_id`,
      );
      return rows.map((row) => ({ nodeId: row.node_id as NodeId, ageMs: row.age_ms, text: row.body }));
    },
  };
}
