import { createServer } from "node:net";
import { HoldfastError } from "../../errors.js";
import type { Spelling } from "./spelling.js";

export const loopback = "127.0.0.1";
const highest = 65_535;

type Use = "free" | "taken" | "forbidden";

/** The ports of the nodes, one after the other. All of them are tried before anything is started. */
export async function claimPorts(first: number, count: number, spelled: Spelling): Promise<readonly number[]> {
  const ports = run(first, count);
  if ((ports.at(-1) ?? 0) > highest) {
    throw new HoldfastError("USAGE", `${count} nodes from port ${first} on do not fit: the last port is ${highest}.`);
  }
  const uses = await Promise.all(ports.map(useOf));
  const forbidden = ports.filter((_, index) => uses[index] === "forbidden");
  if (forbidden.length > 0) {
    const which = `${named(forbidden)} on ${loopback}`;
    throw new HoldfastError(
      "ADDRESS_IN_USE",
      `This user may not listen on ${which}: choose others with ${spelled("--port 7400")}.`,
    );
  }
  const taken = ports.filter((_, index) => uses[index] === "taken");
  if (taken.length === 0) return ports;
  const free = await nextFree(first, count);
  const others = spelled(free === undefined ? "--port" : `--port ${free}`);
  throw new HoldfastError(
    "ADDRESS_IN_USE",
    `${capitalized(named(taken))} on ${loopback} ${taken.length === 1 ? "is" : "are"} taken by another program: ` +
      `stop that one, or choose other ports with ${others}.`,
    { details: { ports: taken } },
  );
}

function run(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

function named(ports: readonly number[]): string {
  return `${ports.length === 1 ? "port" : "ports"} ${ports.join(", ")}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A suggestion, as round as the first choice was. */
async function nextFree(first: number, count: number): Promise<number | undefined> {
  for (let candidate = first + 100; candidate + count <= Math.min(first + 1_000, highest); candidate += 100) {
    const uses = await Promise.all(run(candidate, count).map(useOf));
    if (uses.every((use) => use === "free")) return candidate;
  }
  return undefined;
}

async function useOf(port: number): Promise<Use> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve("taken");
      else if (error.code === "EACCES") resolve("forbidden");
      else reject(error);
    });
    server.listen({ host: loopback, port, exclusive: true }, () => server.close(() => resolve("free")));
  });
}
