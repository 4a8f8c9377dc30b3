import type { Logger } from "pino";
import type { Exit, Notice } from "./core/messages.js";

export function describeExit({ code, signal }: Exit): string {
  if (signal !== null) return signal;
  return code === null ? "it could not be started" : `exit code ${code}`;
}

/** A line for each thing that the node-controller decided. */
export function tellNotice(log: Logger, notice: Notice): void {
  switch (notice.kind) {
    case "restart": {
      const { child, failures, inMs } = notice;
      return log.warn({ child, failures, in_ms: inMs }, `the ${child} starts again in ${seconds(inMs)}`);
    }
    case "crashLoop": {
      const { child, failures, exit } = notice;
      const how = `the ${child} is in a crash loop: it ended ${failures} times in a row, the last time with ${describeExit(exit)}`;
      return log.error({ child, failures, reason: "crash_loop" }, `${how}; it is tried again ever more slowly`);
    }
    case "settled":
      return log.info({ child: notice.child }, `the ${notice.child} is out of its crash loop`);
    case "agentOff": {
      const { because } = notice;
      const why = because === "controller_gone" ? "its controller is gone" : `the controller is ${because}`;
      return log.info({ child: "agent", reason: because }, `the agent stops: ${why}`);
    }
    case "overdue": {
      const { child, afterMs } = notice;
      return log.error({ child, reason: "overdue" }, `the ${child} did not stop within ${seconds(afterMs)}: killed`);
    }
    case "givenUp": {
      const { failures, exit } = notice;
      const what = `the controller never served, and ended with ${describeExit(exit)} ${failures} times in a row`;
      return log.fatal({ child: "controller", failures, reason: "given_up" }, `${what}: correct what it says above`);
    }
  }
}

function seconds(ms: number): string {
  return `${Number((ms / 1000).toFixed(ms < 1_000 ? 2 : 1))} s`;
}
