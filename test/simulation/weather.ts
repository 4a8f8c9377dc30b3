import type { Random } from "./random.js";

/** What the network does to a message just now. Faults change it, and the end of the faults brings it back. */
export interface Weather {
  baseMs: number;
  jitterMs: number;
  /** The share of messages with which a connection goes dead, one way: nothing after it arrives either. */
  loss: number;
  late: number;
  duplicate: number;
  /** The share of requests that fail with an error, half of them after they were carried out. */
  error: number;
}

/** Round trips stay well below the shortest request timeout and grace: more than that cannot be asked of a leader. */
export function fairWeather(random: Random): Weather {
  const baseMs = random.pick([0.05, 0.5, 2, 8]);
  return { baseMs, jitterMs: baseMs * random.unit(), loss: 0, late: 0, duplicate: 0, error: 0 };
}

/** As if everything ran on one machine: nothing but the settings keeps two leaders apart. */
export function stillWeather(): Weather {
  return { baseMs: 0.01, jitterMs: 0.01, loss: 0, late: 0, duplicate: 0, error: 0 };
}

export function ordinaryWeather(random: Random): Weather {
  const fair = fairWeather(random);
  if (random.chance(0.3)) return fair;
  const jitterMs = fair.jitterMs + random.pick([0, 0, 10, 40]);
  return { ...fair, jitterMs, loss: 0.002, late: 0.003, duplicate: 0.02, error: 0.003 };
}

export function roughen(weather: Weather, random: Random): void {
  weather.jitterMs += random.pick([5, 50, 150]);
  weather.loss = random.pick([0, 0.03, 0.1]);
  weather.late = random.pick([0, 0.05, 0.2]);
  weather.duplicate = random.pick([0, 0.2]);
  weather.error = random.pick([0, 0.05]);
}
