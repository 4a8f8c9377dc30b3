import type { FromProcess, ToProcess } from "../messages.js";

/** The child's end of the line to the bench. */
export function tell(message: FromProcess): void {
  process.send?.(message);
}

/** Says that all modules are loaded, and from then on takes orders. */
export function takeOrders(carryOut: (order: ToProcess) => Promise<void> | void): void {
  process.on("message", (message) => {
    Promise.resolve(carryOut(message as ToProcess)).catch((error: unknown) => {
      tell({ kind: "failed", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    });
  });
  tell({ kind: "loaded" });
}
