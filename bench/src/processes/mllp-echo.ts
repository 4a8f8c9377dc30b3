import { openReceivers } from "../engine/mllp-receivers.js";
import { takeOrders, tell } from "./parent.js";

/** Acknowledges what it gets, and does nothing else: what the protocol and the senders cost by themselves. */
export function run(): void {
  takeOrders(async (order) => {
    if (order.kind === "receive") tell({ kind: "receiving", ports: await openReceivers(order.interfaces) });
  });
}
