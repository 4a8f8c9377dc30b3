import type pg from "pg";
import { HoldfastError, invariant } from "../../errors.js";
import { type NodeLoad, type NodeReport, type NodeRow, type NodeStatus, noLoad } from "../../membership/node-row.js";
import type { Registry, StoreNews, TidyReport, TidyRules } from "../contract.js";
import type { Questions } from "./questions.js";
import { type NodeJson, readNode, toRegistryJson } from "./rows.js";
import type { ElectionClient } from "./session.js";

/** Who is here: the rows of `nodes`, and what this node says of itself with every beat. */
export class PostgresRegistry implements Registry {
  private readonly questions: Questions;
  private readonly nodeTimeoutMs: number;
  private report: NodeReport | null = null;
  private readLoad: () => NodeLoad = () => noLoad;
  private listener: (news: StoreNews) => void = () => undefined;

  constructor(questions: Questions, nodeTimeoutMs: number) {
    this.questions = questions;
    this.nodeTimeoutMs = Math.ceil(nodeTimeoutMs);
  }

  async join(report: NodeReport): Promise<void> {
    this.report = report;
    await this.questions.ask("joining", async (client) => {
      const { rows } = await client.query<Entry>(this.entering(), this.entry(report));
      refuseIfTaken(rows, report);
    });
  }

  /** Enters again, over the session that noticed it, after the row was cleaned up. */
  async rejoin(client: ElectionClient): Promise<void> {
    const report = this.current();
    refuseIfTaken(await client.query<Entry>(this.entering(), this.entry(report)), report);
  }

  private entering(): string {
    return `select ${this.questions.schema}.join_node($1, $2) as taken_by`;
  }

  private entry(report: NodeReport): [string, number] {
    return [JSON.stringify(toRegistryJson(report)), this.nodeTimeoutMs];
  }

  setStatus(status: NodeStatus): void {
    if (this.report !== null) this.report = { ...this.report, status };
  }

  async publishStatus(): Promise<void> {
    const { nodeId, incarnation, status } = this.current();
    await this.questions.rows(
      "saying what this node is",
      `update ${this.questions.schema}.nodes set status = $3 where node_id = $1 and incarnation = $2`,
      [nodeId, incarnation, status],
    );
  }

  reportLoad(read: () => NodeLoad): void {
    this.readLoad = read;
  }

  follow(listener: (news: StoreNews) => void): void {
    this.listener = listener;
  }

  /** What the next beat says. */
  current(): NodeReport {
    invariant(this.report !== null, "a session was used before the node joined");
    return this.report;
  }

  load(): NodeLoad {
    return this.readLoad();
  }

  tell(news: StoreNews): void {
    this.listener(news);
  }

  async leave(): Promise<void> {
    const { report } = this;
    if (report === null) return;
    this.setStatus("left");
    const { nodeId, incarnation } = report;
    await this.questions.rows("leaving", `select ${this.questions.schema}.leave($1, $2)`, [nodeId, incarnation]);
  }

  async nodes(): Promise<readonly NodeRow[]> {
    const rows = await this.questions.rows<NodeJson>("reading the nodes", `${this.selecting()} order by node_id`);
    return rows.map(readNode);
  }

  async node(id: string): Promise<NodeRow | null> {
    const rows = await this.questions.rows<NodeJson>("reading a node", `${this.selecting()} where node_id = $1`, [id]);
    const row = rows[0];
    return row === undefined ? null : readNode(row);
  }

  private selecting(): string {
    const { schema } = this.questions;
    return `select node_id, incarnation, clustered, status, hostname, pid, ip_address, http_port, grpc_port, url, version,
        roles, worker_capabilities, promotable, current_connections, current_jobs, cpu_usage, memory_usage,
        config_version::float8, contends, ${schema}.ms_since_1970(started_at) as started_at,
        ${schema}.ms_since_1970(last_heartbeat) as last_heartbeat,
        ${schema}.ms_between(clock_timestamp(), last_heartbeat) as heartbeat_age_ms
      from ${schema}.nodes`;
  }

  async tidy(rules: TidyRules): Promise<TidyReport> {
    const { nodeTimeoutMs, markDead, forgetAfterMs, historyDays, auditDays } = rules;
    const rows = await this.questions.rows<{ report: TidyReport }>(
      "tidying the registry",
      `select ${this.questions.schema}.tidy($1, $2, $3, $4, $5) as report`,
      [Math.ceil(nodeTimeoutMs), markDead, Math.ceil(forgetAfterMs), historyDays, auditDays],
    );
    return rows[0]?.report ?? { died: [], forgotten: [] };
  }
}

interface Entry extends pg.QueryResultRow {
  readonly taken_by: { readonly hostname: string; readonly pid: number } | null;
}

function refuseIfTaken(rows: readonly Entry[], report: NodeReport): void {
  const takenBy = rows[0]?.taken_by ?? null;
  if (takenBy === null) return;
  throw new HoldfastError(
    "NODE_ID_TAKEN",
    `Node id "${report.nodeId}" is taken by pid ${takenBy.pid} on ${takenBy.hostname}: give each process its own cluster.node_id.`,
  );
}
