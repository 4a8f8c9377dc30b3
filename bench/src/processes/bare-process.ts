import { takeOrders } from "./parent.js";

/** A process of Node that does nothing: what the others are compared with. */
export function run(): void {
  takeOrders(() => undefined);
}
