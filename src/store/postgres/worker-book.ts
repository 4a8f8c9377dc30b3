import type { Json } from "../../jobs/core/job.js";
import type { Collection, ForsakenLease, OrderAnswer, PendingOrder, WorkerBook } from "../worker-contract.js";
import type { Questions } from "./questions.js";

/** The rows of `worker_orders` (migrations/0007_workers.sql), each call one statement. */
export function workerBook(
  questions: Questions,
  node: { readonly nodeId: string; readonly incarnation: string },
): WorkerBook {
  const read = async <Answer>(doing: string, call: string, values: readonly unknown[]): Promise<Answer> => {
    const text = `select ${questions.schema}.${call} as answer`;
    const found = await questions.rows<{ readonly answer: Answer }>(doing, text, values);
    return (found[0] as { readonly answer: Answer }).answer;
  };
  return {
    async send(id, body) {
      const values = [id, node.nodeId, node.incarnation, JSON.stringify(body)];
      await read("sending an order to the leader", "send_worker_order($1, $2, $3, $4)", values);
    },
    withdraw: async (id) => await read<Json>("withdrawing an order", "withdraw_worker_order($1)", [id]),
    collect: async () => await read<Collection>("collecting answers", "collect_worker_answers($1)", [node.incarnation]),
    async pending(known, nodeTimeoutMs): Promise<readonly PendingOrder[]> {
      const values = [known, nodeTimeoutMs];
      const found = await read<PendingJson[]>("reading what workers ask", "pending_worker_orders($1, $2)", values);
      return found.map(({ node_id: nodeId, ...rest }) => ({ ...rest, nodeId }));
    },
    async answer(answers: readonly OrderAnswer[]) {
      const values = [answers.map(({ id }) => id), answers.map(({ answer }) => JSON.stringify(answer))];
      await read("answering workers", "answer_worker_orders($1, $2)", values);
    },
    async forsaken(nodeTimeoutMs): Promise<readonly ForsakenLease[]> {
      const found = await read<ForsakenJson[]>("looking for dead workers", "forsaken_leases($1)", [nodeTimeoutMs]);
      return found.map(({ agent, lease_id: leaseId }) => ({ agent, leaseId }));
    },
  };
}

interface PendingJson extends Omit<PendingOrder, "nodeId"> {
  readonly node_id: string;
}

interface ForsakenJson {
  readonly agent: string;
  readonly lease_id: string;
}
