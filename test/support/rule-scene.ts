import type { Round } from "../../src/alerts/core/samples.js";

/** Twenty minutes of a bad day, in rounds of 5 s: each rule that is on by default has its reason to fire, and to stop. */
export const stepMs = 5_000;
const steps = 240;

const between = (second: number, from: number, until: number): boolean => second >= from && second < until;

type At = (second: number) => number | null;

/** `c` is gone after 1000 s. */
const nodes: Readonly<Record<string, (second: number) => boolean>> = {
  a: () => true,
  b: () => true,
  c: (second) => second < 1_000,
};

const perNode: Readonly<Record<string, (node: string) => At>> = {
  'leader_is_leader{role="scheduler",': (node) => (second) =>
    node === (second < 300 ? "a" : between(second, 300, 400) ? "nobody" : "b") ? 1 : 0,
  'leader_is_leader{role="mine",': (node) => (second) => (node === "a" && !between(second, 500, 560) ? 1 : 0),
  // Watched by all, and led by nobody at any time.
  'leader_is_leader{role="idle",': () => () => 0,
  'leader_epoch{role="scheduler",': () => (second) => (second < 400 ? 1 : 2),
  'leader_epoch{role="mine",': () => () => 3,
  'leader_epoch{role="idle",': () => () => 0,
  'leader_failovers_total{role="scheduler",': (node) => (second) =>
    node === "b" ? Math.min(7, Math.max(0, Math.floor((second - 600) / 15))) : 0,
  'leader_trust_remaining_seconds{role="scheduler",': (node) => (second) =>
    node === "b" && second >= 400 ? (between(second, 420, 480) ? 0.5 : 2.9) : 0,
  'leader_heartbeat_age_seconds{role="scheduler",': (node) => (second) =>
    node === "c" && between(second, 200, 240) ? 2.75 : 0.4,
  'cluster_nodes{status="dead",': () => (second) => (between(second, 800, 900) ? 1 : 0),
  'queue_oldest_seconds{queue="orders",': (node) => (second) =>
    node === "a" && between(second, 100, 1_000) ? second - 99.5 : 0,
  // One message after the other: old, but never the same.
  'queue_oldest_seconds{queue="slow",': (node) => (second) => (node === "a" ? 400 + (second % 7) : 0),
  'queue_dead_total{queue="orders",': (node) => (second) => (node === "a" && second >= 400 ? 1 : 0),
};

export function badDay(prefix: string): readonly Round[] {
  return Array.from({ length: steps }, (_, step) => {
    const second = (step * stepMs) / 1000;
    const living = Object.entries(nodes).filter(([, lives]) => lives(second));
    const series = living.flatMap(([node]) =>
      Object.entries(perNode).flatMap(([head, at]): readonly (readonly [string, number])[] => {
        const value = at(node)(second);
        return value === null ? [] : [[`${prefix}${head}node="${node}"}`, value]];
      }),
    );
    return { at: step * stepMs, series: new Map(series) };
  });
}
