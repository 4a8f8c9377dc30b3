import { within } from "../../../src/lifecycle/within.js";
import { codeOf, Sender } from "../../integration/mllp-scene.js";
import { goesTo, messageOf, textOf, wards } from "../../support/engine-feed.js";
import { monotonicMs } from "../clock.js";
import { mllpPort, type Place } from "../place.js";
import type { Scene } from "../workload.js";
import { LeaderClient } from "./leader-client.js";
import { rest } from "./pace.js";

type Duplicating = Pick<Scene, "places" | "token" | "log">;

const copies = 3;
const restMs = 100;
const answerWithinMs = 2_000;

/**
 * Whatever is asked of the leader is asked by three at the same time, with the same key: jobs, messages of the queue, and HL7 messages.
 * What comes of it must be as if one had asked. `number` tells one such time from the others of a run.
 */
export async function duplicateRequests(scene: Duplicating, number: number, signal: AbortSignal): Promise<void> {
  await Promise.all([jobs(scene, number, signal), messages(scene, number, signal), mllp(scene, number, signal)]);
}

async function jobs({ log, ...scene }: Duplicating, number: number, signal: AbortSignal): Promise<void> {
  const by = `duplicates-${number}`;
  const clients = clientsOf({ log, ...scene }, by, ({ url }) => url);
  for (let n = 1; !signal.aborted; n += 1) {
    const key = `${by}/${n}`;
    const wish = { op: "work", payload: { key, ms: 5 }, idempotency_key: key };
    await untilOneIsTaken(signal, async () => {
      const asked = await Promise.all(clients.map((client) => client.post("/v1/jobs", wish)));
      for (const { from, to, outcome, code, body } of asked) {
        const id = typeof body.job_id === "string" ? { id: body.job_id } : {};
        log({ by, at: to, from, to, kind: "submit", key, outcome, ...id, ...(code === undefined ? {} : { code }) });
      }
      return asked.some(({ outcome }) => outcome === "done");
    });
  }
}

async function messages({ log, ...scene }: Duplicating, number: number, signal: AbortSignal): Promise<void> {
  const lane = `duplicates-${number}`;
  const clients = clientsOf({ log, ...scene }, lane, ({ serviceUrl }) => serviceUrl);
  for (let n = 1; !signal.aborted; n += 2) {
    const numbers = [n, n + 1];
    await untilOneIsTaken(signal, async () => {
      const asked = await Promise.all(clients.map((client) => client.post("/enqueue", { lane, numbers })));
      for (const { from, to, outcome, code } of asked) {
        const told = code === undefined ? {} : { code };
        log({ by: lane, at: to, from, to, kind: "enqueue", lane, numbers, outcome, ...told });
      }
      return asked.some(({ outcome }) => outcome === "done");
    });
  }
}

/** A message that nobody was acknowledged by the end is in doubt. */
async function mllp({ places, log }: Duplicating, number: number, signal: AbortSignal): Promise<void> {
  const sender = `d${number}`;
  const [ward] = wards;
  for (let n = 1; !signal.aborted; n += 1) {
    const message = messageOf(sender, ward, n);
    const { controlId } = message;
    const from = monotonicMs();
    let tries = 0;
    const taken = await untilOneIsTaken(signal, async () => {
      tries += 1;
      const place = places[tries % places.length];
      if (place === undefined) return false;
      const answers = await Promise.all(Array.from({ length: copies }, () => askMllp(place, textOf(message))));
      return answers.includes(`AA ${controlId}`);
    });
    const to = monotonicMs();
    const outcome = taken ? "done" : "unknown";
    const sent = { sender, controlId, number: n, tries: tries * copies, goesTo: goesTo(message) };
    log({ by: sender, at: to, from, to, kind: "mllp_sent", ...sent, outcome });
  }
}

async function askMllp({ host }: Place, text: string): Promise<string | null> {
  const over = new AbortController();
  const asking = async (): Promise<string | null> => {
    await using line = await Sender.to(mllpPort, { host, signal: over.signal });
    over.signal.addEventListener("abort", () => line.socket.destroy());
    return codeOf(await line.ask(text));
  };
  return await within(
    answerWithinMs,
    asking().catch(() => null),
    () => {
      over.abort();
      return null;
    },
  );
}

function clientsOf(scene: Duplicating, by: string, urlOf: (place: Place) => string): readonly LeaderClient[] {
  return Array.from({ length: copies }, (_, index) => new LeaderClient(by, scene, { urlOf, first: index }));
}

async function untilOneIsTaken(signal: AbortSignal, round: () => Promise<boolean>): Promise<boolean> {
  while (!signal.aborted) {
    if (await round()) return true;
    await rest(restMs, signal);
  }
  return false;
}
