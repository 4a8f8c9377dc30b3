import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atTheEnd } from "../cleanup.js";
import { freePorts } from "../free-ports.js";

/** A folder with a graph of interfaces, each from a port of its own through a router and a handler to one receiver. */
export interface WrittenGraph {
  readonly folder: string;
  /** Where each interface listens. */
  readonly ports: readonly number[];
}

export async function writeGraph(receivers: readonly number[]): Promise<WrittenGraph> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-graph-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const ports = await freePorts(receivers.length);
  await writeFile(join(folder, "interfaces.ts"), moduleOf(ports, receivers));
  return { folder, ports };
}

function moduleOf(ports: readonly number[], receivers: readonly number[]): string {
  const interfaces = receivers.map((receiver, index) => {
    const there = (port: number | undefined): string => `{ kind: "mllp", host: "127.0.0.1", port: ${port} }`;
    return `
export const in${index} = defineInbound({ name: "in-${index}", router: "router-${index}", transport: ${there(ports[index])} });
export const router${index} = defineRouter({
  name: "router-${index}",
  handlers: ["handler-${index}"],
  route: (message) => (message.type.startsWith("ADT") ? ["handler-${index}"] : []),
});
export const handler${index} = defineHandler({
  name: "handler-${index}",
  outbounds: ["out-${index}"],
  handle: (message) => [send("out-${index}", message.hl7().set("MSH-5", "LAB"))],
});
export const out${index} = defineOutbound({ name: "out-${index}", transport: ${there(receiver)} });
`;
  });
  return `import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";\n${interfaces.join("")}`;
}
