import { setTimeout as pause } from "node:timers/promises";
import { EtcdClient } from "../etcd/etcd-client.js";
import { takeOrders, tell } from "../processes/parent.js";

/**
 * A candidate of etcd's own election, with a lease that it keeps alive three times in its length, as etcd's Go client does. The
 * server deletes a candidate's key when its lease runs out, and the next candidate wins.
 */
export function run(url: string): void {
  const etcd = new EtcdClient(url);
  let candidacy: { readonly lease: string; readonly name: string } | null = null;
  takeOrders(async (order) => {
    if (order.kind === "campaign") {
      const { id, ttlSeconds } = await etcd.grantLease(order.ttlSeconds);
      candidacy = { lease: id, name: order.name };
      keepAlive(etcd, id, ttlSeconds);
      tell({ kind: "granted", ttlSeconds });
      await contend(etcd, candidacy);
    } else if (order.kind === "campaignAgain" && candidacy !== null) {
      await contend(etcd, candidacy);
    } else if (order.kind === "resign" && leading !== null) {
      const at = process.hrtime.bigint();
      const resigned = etcd.resign(leading);
      tell({ kind: "steppingDown", at });
      await resigned;
    }
  });
}

let leading: unknown = null;

async function contend(etcd: EtcdClient, { lease, name }: { lease: string; name: string }): Promise<void> {
  leading = await etcd.campaign(name, lease);
  tell({ kind: "leads", at: process.hrtime.bigint() });
}

function keepAlive(etcd: EtcdClient, lease: string, ttlSeconds: number): void {
  const forever = async (): Promise<never> => {
    for (;;) {
      await etcd.keepLease(lease);
      await pause((ttlSeconds * 1000) / 3);
    }
  };
  forever().catch((error: unknown) => tell({ kind: "failed", reason: String(error) }));
}
