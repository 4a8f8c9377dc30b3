import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, type Registry } from "prom-client";

const resolutionMs = 20;
const windowMs = 10_000;

/** The metrics of a node's HTTP server. The label `route` is the pattern of the path, so that no path of a caller is a series. */
export class HttpMetrics {
  private readonly requests: Counter<"method" | "route" | "status">;
  private readonly names: readonly string[];
  private readonly registry: Registry;
  private readonly delay: IntervalHistogram;
  private window = { since: performance.now(), longestMs: 0 };

  constructor(registry: Registry, prefix: string) {
    this.registry = registry;
    this.names = [`${prefix}http_requests_total`, `${prefix}event_loop_lag_seconds`];
    this.delay = monitorEventLoopDelay({ resolution: resolutionMs });
    this.delay.enable();
    this.requests = new Counter({
      name: `${prefix}http_requests_total`,
      help: "Requests that this node has answered, by method, pattern of the path and status.",
      labelNames: ["method", "route", "status"],
      registers: [registry],
    });
    const longest = (): number => this.longestLagSeconds();
    new Gauge({
      name: `${prefix}event_loop_lag_seconds`,
      help: "The longest that the event loop was held up since it was last read, and at least within the last 10 seconds.",
      registers: [registry],
      collect() {
        this.set(longest());
      },
    });
  }

  count(method: string, route: string, status: number): void {
    this.requests.inc({ method, route, status });
  }

  /** Several may read, at any pace: so the window turns by the clock, and not with a reading. */
  private longestLagSeconds(): number {
    // The histogram counts the pause between two looks, of which the resolution is no lag.
    const currentMs = Math.max(0, this.delay.max / 1e6 - resolutionMs);
    const longestMs = Math.max(currentMs, this.window.longestMs);
    if (performance.now() - this.window.since >= windowMs) {
      this.window = { since: performance.now(), longestMs: currentMs };
      this.delay.reset();
    }
    return longestMs / 1000;
  }

  /** Takes our metrics out of a registry that may serve another server of the process later. */
  remove(): void {
    this.delay.disable();
    for (const name of this.names) this.registry.removeSingleMetric(name);
  }
}
