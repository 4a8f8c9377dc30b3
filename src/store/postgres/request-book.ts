import type { Incarnation, NodeId, Role } from "../../election/core/names.js";
import type { NodeRequest, RequestKind, RequestOrder, RequestOutcome } from "../../membership/node-request.js";
import type { RequestBook } from "../contract.js";
import type { Questions } from "./questions.js";

export interface RequestJson {
  id: string;
  kind: RequestKind;
  node_id: string;
  incarnation: string;
  role: string | null;
  to: string | null;
  requested_by: string;
  requested_at: number;
  acted_at: number | null;
  refusal: string | null;
}

export function readRequest(json: RequestJson): NodeRequest {
  const outcome: RequestOutcome | null =
    json.acted_at === null
      ? null
      : json.refusal === null
        ? { kind: "done" }
        : { kind: "refused", message: json.refusal };
  return {
    id: json.id,
    kind: json.kind,
    nodeId: json.node_id as NodeId,
    incarnation: json.incarnation as Incarnation,
    role: json.role as Role | null,
    to: json.to,
    requestedBy: json.requested_by,
    requestedAt: json.requested_at,
    actedAt: json.acted_at,
    outcome,
  };
}

/** The rows of `requests`: what nodes ask of each other. */
export function requestBook(
  questions: Questions,
  node: { readonly nodeId: string; readonly incarnation: string },
): RequestBook {
  const { schema } = questions;
  return {
    async send(order: RequestOrder, nodeTimeoutMs: number): Promise<NodeRequest> {
      const { kind, nodeId, role, to, requestedBy } = order;
      return await questions.ask("asking another node", async (client) => {
        const { rows } = await client.query<{ request: RequestJson }>(
          `select ${schema}.send_request($1, $2, $3, $4, $5, $6) as request`,
          [kind, nodeId, role, to, requestedBy, Math.ceil(nodeTimeoutMs)],
        );
        const sent = readRequest((rows[0] as { request: RequestJson }).request);
        await client.query(`select ${schema}.announce_request($1)`, [sent.nodeId]);
        return sent;
      });
    },
    async read(id: string): Promise<NodeRequest | null> {
      const rows = await questions.rows<{ request: RequestJson }>(
        "reading a request",
        `select ${schema}.request_view(r) as request from ${schema}.requests r where id = $1`,
        [id],
      );
      return rows[0] === undefined ? null : readRequest(rows[0].request);
    },
    async pending(): Promise<readonly NodeRequest[]> {
      const rows = await questions.rows<{ request: RequestJson }>(
        "reading what is asked of this node",
        `select ${schema}.request_view(r) as request from ${schema}.requests r
         where node_id = $1 and incarnation = $2 and acted_at is null order by id`,
        [node.nodeId, node.incarnation],
      );
      return rows.map((row) => readRequest(row.request));
    },
    async answer(id: string, outcome: RequestOutcome): Promise<void> {
      const refusal = outcome.kind === "refused" ? outcome.message : null;
      await questions.rows("answering a request", `select ${schema}.answer_request($1, $2, $3)`, [
        id,
        node.incarnation,
        refusal,
      ]);
    },
  };
}
