import { connect, type Socket } from "node:net";
import { wards } from "../../support/engine-feed.js";
import { ServerEvents } from "../../support/server-events.js";
import { monotonicMs } from "../clock.js";
import { apiPort, mllpPort, type Place, servicePort } from "../place.js";
import type { Scene } from "../workload.js";
import { ask } from "./leader-client.js";
import { rest, untilAborted } from "./pace.js";

type Pressed = Pick<Scene, "places" | "token" | "log" | "random">;

const floodClients = 30;
/** What a node says to the senseless ones. Who alone may say the second, the leader of the jobs, can be away for as long as a flood. */
const refusals = ["UNAUTHORIZED", "INVALID_REQUEST", "NOT_FOUND"];
const patienceMs = 20_000;
const dripMs = 200;

/**
 * Far more requests than anybody needs, many of them senseless, to every node, until the signal ends: and then for as long as it
 * takes, within reason, that each kind of nonsense was refused as such.
 */
export async function flood({ places, token, log, random }: Pressed, signal: AbortSignal): Promise<void> {
  const codes = new Set<string>();
  const requests: readonly ((url: string) => ReturnType<typeof ask>)[] = [
    (url) => ask(`${url}/health`, { token }),
    (url) => ask(`${url}/role`, { token }),
    (url) => ask(`${url}/cluster/status`, { token: "of nobody" }),
    (url) => ask(`${url}/v1/jobs`, { token, body: { op: 7 } }),
    (url) => ask(`${url}/v1/jobs?limit=5`, { token }),
    (url) => ask(`${url}/nothing/is/here`, { token }),
  ];
  let givenUpAt = Number.POSITIVE_INFINITY;
  signal.addEventListener("abort", () => (givenUpAt = monotonicMs() + patienceMs), { once: true });
  const isOver = (): boolean =>
    signal.aborted && (refusals.every((code) => codes.has(code)) || monotonicMs() > givenUpAt);
  const client = async (index: number): Promise<void> => {
    for (let turn = index; !isOver(); turn += 1) {
      const { url } = places[Math.floor(random.unit() * places.length)] ?? { url: "" };
      const { code } = (await requests[turn % requests.length]?.(url)) ?? {};
      if (code !== undefined) codes.add(code);
    }
  };
  await Promise.all(Array.from({ length: floodClients }, (_, index) => client(index)));
  for (const code of codes) log({ by: "flood", at: monotonicMs(), kind: "rejection", code });
}

/** Clients of every kind that begin and do not go on: half a header, half a body, half a frame, streams that nobody reads. */
export async function slowClients({ places, token, log }: Pressed, signal: AbortSignal): Promise<void> {
  const said = new Set<string>();
  const sockets = places.flatMap((place) => halves(place, token).map((half) => drip(half, said, signal)));
  const streams = await Promise.all(
    places.map(({ url }) => ServerEvents.open(url, { token, openWithinMs: 1_000 }).catch(() => null)),
  );
  await untilAborted(signal);
  for (const socket of sockets) socket.destroy();
  for (const stream of streams) await stream?.[Symbol.asyncDispose]();
  for (const code of said) log({ by: "slow-clients", at: monotonicMs(), kind: "rejection", code });
}

interface Half {
  readonly host: string;
  readonly port: number;
  readonly begins: string;
  /** A byte of this is sent now and then. */
  readonly drips: string;
}

function halves({ host }: Place, token: string): readonly Half[] {
  const header = `authorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  const kinds: readonly Half[] = [
    { host, port: apiPort, begins: "GET /role HTTP/1.1\r\nhost: a\r\nx-slow: ", drips: "x" },
    {
      host,
      port: apiPort,
      begins: `POST /v1/jobs HTTP/1.1\r\nhost: a\r\n${header}content-length: 900\r\n\r\n{`,
      drips: " ",
    },
    {
      host,
      port: servicePort,
      begins: "POST /enqueue HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n{",
      drips: " ",
    },
    ...wards.map((_, index) => ({ host, port: mllpPort + index, begins: "\x0bMSH|^~\\&|slow|", drips: "x" })),
  ];
  return kinds.flatMap((half) => [half, half, half]);
}

/** Begins anew where it was hung up on. */
function drip({ host, port, begins, drips }: Half, said: Set<string>, signal: AbortSignal): { destroy(): void } {
  let socket: Socket | null = null;
  const begin = async (): Promise<void> => {
    while (!signal.aborted) {
      const own = connect({ host, port });
      socket = own;
      const closed = new Promise<void>((resolve) => own.once("close", () => resolve()));
      own.on("error", (error: NodeJS.ErrnoException) => said.add(error.code ?? error.name));
      own.on("data", (answer) => {
        const status = /^HTTP\/1\.1 (\d{3})/.exec(answer.toString("latin1"))?.[1];
        if (status !== undefined) said.add(`HTTP_${status}`);
      });
      own.write(begins);
      const dripping = setInterval(() => own.write(drips), dripMs);
      await closed;
      clearInterval(dripping);
      await rest(dripMs, signal);
    }
  };
  void begin();
  return { destroy: () => socket?.destroy() };
}
