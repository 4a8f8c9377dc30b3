import { clockRateError } from "../election/core/timing.js";
import type { Expectations } from "./expectations.js";
import type { ClockSample, Facts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";

const largestDifferenceMs = 1_000;

export interface ClockReading {
  /** This machine's clock less the database's. */
  readonly differenceMs: number;
  readonly uncertainMs: number;
  /** How much faster this machine's clock runs, as a share. */
  readonly rate: number;
  readonly uncertainRate: number;
}

/**
 * The database's clock was read somewhere between sending and receiving, so the quickest answers say most. The rate compares
 * the quickest of the first third with the quickest of the last.
 */
export function readClocks(samples: readonly ClockSample[]): ClockReading | null {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return null;
  const quickest = (among: readonly ClockSample[]): ClockSample =>
    among.reduce((best, sample) => (tripOf(sample) < tripOf(best) ? sample : best));
  const best = quickest(samples);
  const first = quickest(samples.slice(0, third));
  const last = quickest(samples.slice(-third));
  const middle = (sample: ClockSample): number => (sample.sentMono + sample.receivedMono) / 2;
  const span = last.databaseWall - first.databaseWall;
  return {
    differenceMs: best.receivedWall - tripOf(best) / 2 - best.databaseWall,
    uncertainMs: tripOf(best) / 2,
    rate: (middle(last) - middle(first)) / span - 1,
    uncertainRate: (tripOf(first) + tripOf(last)) / 2 / span,
  };
}

const tripOf = ({ sentMono, receivedMono }: ClockSample): number => receivedMono - sentMono;

/** G3 assumes a bounded rate. A difference bends no election, since no node's clock enters a row; it only confuses people. */
export function checkClocks({ server }: Facts): readonly Finding[] {
  const reading = server === null ? null : readClocks(server.clock);
  if (reading === null) return [];
  const { differenceMs, uncertainMs, rate, uncertainRate } = reading;
  const found: Finding[] = [];
  if (Math.abs(rate) - uncertainRate > clockRateError) {
    found.push(
      problem(
        "clocks",
        `The clocks of this machine and the database run at rates that differ by ${percent(rate)}; trust in a lease allows for ${percent(clockRateError)}.`,
        'Find out which of the two is wrong (a virtual machine without a stable clock source?). Until then keep takeover = "lease" and raise leader_lease_ttl_seconds well above the fence timeout.',
      ),
    );
  }
  if (Math.abs(differenceMs) - uncertainMs > largestDifferenceMs) {
    found.push(
      warning(
        "clocks",
        `The clocks of this machine and the database differ by ${(Math.abs(differenceMs) / 1000).toFixed(1)} s. Elections go by the database's alone; logs will not match the history.`,
        "Let both synchronise their clocks (NTP).",
      ),
    );
  }
  return orOk(found, ok("clocks", `The clocks differ by ${Math.abs(differenceMs).toFixed(0)} ms, and run alike.`));
}

const percent = (share: number): string => `${(Math.abs(share) * 100).toFixed(1)} %`;

/** R5: a beat that takes longer than a request may is given up, and its session with it. */
export function checkTimings({ server }: Facts, { timing }: Expectations): readonly Finding[] {
  if (server === null || server.clock.length === 0) return [];
  const { requestTimeoutMs } = timing;
  const tripMs = median(server.clock.map(tripOf));
  const advice =
    "Raise leader_fence_timeout_seconds and leader_lease_ttl_seconds, or find out what is slow: the network, the disk, a synchronous standby.";
  const allowed = `a request may take ${requestTimeoutMs.toFixed(0)} ms with these timings`;
  if (server.commits.kind === "late") {
    return [
      problem(
        "timings",
        `A commit was not done after ${server.commits.afterMs.toFixed(0)} ms; ${allowed}.`,
        (server.settings.get("synchronous_standby_names")?.value ?? "") !== ""
          ? "Commits wait for a synchronous standby that does not answer: bring it back, or take it out of synchronous_standby_names."
          : "Look at the server's disk and its log: renewals cannot commit either.",
      ),
    ];
  }
  const commitMs = server.commits.kind === "measured" ? median(server.commits.ms) : 0;
  const worstMs = Math.max(tripMs, commitMs);
  const measured = `A round trip takes ${tripMs.toFixed(1)} ms${server.commits.kind === "measured" ? `, a commit ${commitMs.toFixed(1)} ms` : ""}; ${allowed}.`;
  if (worstMs > requestTimeoutMs / 2) return [problem("timings", measured, advice)];
  if (worstMs > requestTimeoutMs / 4) return [warning("timings", measured, advice)];
  return [ok("timings", measured)];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
