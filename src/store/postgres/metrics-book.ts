import { gunzipSync, gzipSync } from "node:zlib";
import type { Incarnation, NodeId } from "../../election/core/names.js";
import type { MetricsBook, MetricsRound, ProcessCopy } from "../metrics-contract.js";
import { quoted } from "./literal.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

/** The metrics of the cluster on PostgreSQL (migrations/0002_membership.sql). Texts are kept compressed. */
export function metricsBook(questions: Questions, send: FencedMessage): MetricsBook {
  const { schema } = questions;
  const ageOf = (column: string): string => `${schema}.ms_between(clock_timestamp(), ${column}) as age_ms`;
  return {
    async copies() {
      type Row = { node_id: string; incarnation: string; age_ms: number; body: string; is_gone: boolean };
      const rows = await questions.rows<Row>(
        "reading the metrics of all processes",
        `select node_id, incarnation, ${ageOf("at")}, body, not ${schema}.is_living(node_id, incarnation) as is_gone
         from ${schema}.snapshots order by node_id, incarnation`,
      );
      return rows.map(
        ({ node_id, incarnation, age_ms, body, is_gone }): ProcessCopy => ({
          nodeId: node_id as NodeId,
          incarnation: incarnation as Incarnation,
          ageMs: age_ms,
          text: body,
          isGone: is_gone,
        }),
      );
    },

    async processes() {
      type Row = { incarnation: string; node_id: string; age_ms: number; counters: Buffer };
      const rows = await questions.rows<Row>(
        "reading what processes have counted",
        `select incarnation, node_id, ${ageOf("taken_at")}, counters from ${schema}.metric_processes order by incarnation`,
      );
      return rows.map(({ incarnation, node_id, age_ms, counters }) => ({
        incarnation,
        nodeId: node_id,
        ageMs: age_ms,
        text: unpacked(counters),
      }));
    },

    async keep(fence, round) {
      const statements = ["set local synchronous_commit = on", ...roundStatements(schema, fence.epoch, round)];
      try {
        await send(fence, { statements });
      } catch (error) {
        throw toHoldfastError(error, "keeping the metrics of the cluster");
      }
    },

    async totals(process) {
      const [row] = await questions.rows<{ at: number; age_ms: number; totals: Buffer; counters: Buffer | null }>(
        "reading the metrics of the cluster",
        `select ${schema}.ms_since_1970(p.at) as at, ${ageOf("p.at")}, p.totals, c.counters
         from ${schema}.metric_points p left join ${schema}.metric_processes c on c.incarnation = $1
         order by p.id desc limit 1`,
        [process ?? null],
      );
      if (row === undefined) return null;
      const { at, age_ms: ageMs, totals, counters } = row;
      return { at, ageMs, text: unpacked(totals), ofProcess: counters === null ? "" : unpacked(counters) };
    },

    async points(withinMs) {
      const rows = await questions.rows<{ at: number; totals: Buffer; nodes: Buffer }>(
        "reading the metrics of the cluster",
        `select ${schema}.ms_since_1970(at) as at, totals, nodes from ${schema}.metric_points p
         where p.at >= ${schema}.after_ms(clock_timestamp(), -$1::double precision) order by p.id`,
        [withinMs],
      );
      return rows.map(({ at, totals, nodes }) => ({ at, totals: unpacked(totals), nodes: unpacked(nodes) }));
    },
  };
}

function roundStatements(schema: string, epoch: bigint, round: MetricsRound): readonly string[] {
  const { processes, retired, takenIn, totals, nodes, pointsKeptMs } = round;
  const values = processes.map(
    ({ incarnation, nodeId, text }) => `(${quoted(incarnation)}, ${quoted(nodeId)}, ${epoch}, ${packed(text)})`,
  );
  const forget = (table: string, incarnations: readonly string[]): readonly string[] =>
    incarnations.length === 0
      ? []
      : [`delete from ${schema}.${table} where incarnation in (${incarnations.map(quoted).join()})`];
  const upsert = `insert into ${schema}.metric_processes (incarnation, node_id, leader_epoch, counters)
    values ${values.join()}
    on conflict (incarnation) do update set
      taken_at = clock_timestamp(), leader_epoch = excluded.leader_epoch, counters = excluded.counters`;
  return [
    ...(values.length === 0 ? [] : [upsert]),
    ...forget("metric_processes", retired),
    ...forget("snapshots", takenIn),
    `insert into ${schema}.metric_points (leader_epoch, totals, nodes) values (${epoch}, ${packed(totals)}, ${packed(nodes)})`,
    `delete from ${schema}.metric_points where at < ${schema}.after_ms(clock_timestamp(), -${pointsKeptMs})`,
  ];
}

/** The simple protocol has no parameters: a literal that needs no escape. */
const packed = (text: string): string => `'\\x${gzipSync(text).toString("hex")}'`;
const unpacked = (bytes: Buffer): string => gunzipSync(bytes).toString();
