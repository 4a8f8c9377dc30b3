import type { Files } from "./config-folder.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Each takes in what its senders have, and hands it on to a unit of its own; every fifth message goes to the archive as well. */
export const wards = ["ward-1", "ward-2", "ward-3", "ward-4", "ward-5"] as const;
const unitOf = (ward: string): string => ward.replace("ward", "unit");
/** By outbound: how many lanes, each with a connection. */
export const outboundLanes: ReadonlyMap<string, number> = new Map([
  ...wards.map((ward): [string, number] => [unitOf(ward), 1]),
  ["archive", 4],
]);
const archivedEach = 5;
const note = "The patient was seen, and nothing was wrong. ".repeat(8);

export interface FeedMessage {
  readonly controlId: string;
  readonly ward: string;
  readonly sender: string;
}

export function messageOf(sender: string, ward: string, number: number): FeedMessage {
  return { controlId: `${sender}-${number}`, ward, sender };
}

export function textOf({ controlId, ward, sender }: FeedMessage, receiver = "HUB"): string {
  const header = `MSH|^~\\&|${ward}|HOSPITAL|${receiver}|HOLDFAST|20260131||ADT^A01|${controlId}|P|2.5`;
  return `${header}\rPID|1||${sender}\rNTE|1||${note}\r`;
}

export function goesTo({ controlId, ward }: FeedMessage): readonly string[] {
  const isArchived = Number(controlId.split("-").at(-1)) % archivedEach === 0;
  return isArchived ? [unitOf(ward), "archive"] : [unitOf(ward)];
}

/** The graph of one node: where its own ports are, and how it reaches the receivers. */
export function feedFiles(inbounds: ReadonlyMap<string, Address>, receivers: ReadonlyMap<string, Address>): Files {
  const mllp = (address: Address | undefined): string => JSON.stringify({ kind: "mllp", ...address });
  const retry = `retry: { backoff: "10ms", cap: "50ms" }`;
  const definitions = [
    ...wards.map((ward, at) => {
      const own = mllp(inbounds.get(ward));
      return `export const ward${at} = defineInbound({ name: "${ward}", router: "all", transport: ${own} });`;
    }),
    ...[...outboundLanes].map(([name, lanes], at) => {
      const keyed = lanes === 1 ? "" : `lanes: ${lanes}, lane: (message) => message.hl7().get("PID-3"),`;
      return `export const out${at} = defineOutbound({ name: "${name}", ${keyed} ${retry}, transport: ${mllp(receivers.get(name))} });`;
    }),
  ];
  const units = JSON.stringify(wards.map(unitOf));
  return {
    "feed.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";

export const all = defineRouter({
  name: "all",
  handlers: ["to-unit", "to-archive"],
  route: (message) => {
    const number = Number(message.controlId.split("-").at(-1));
    return number % ${archivedEach} === 0 ? ["to-unit", "to-archive"] : ["to-unit"];
  },
});
export const toUnit = defineHandler({
  name: "to-unit",
  outbounds: ${units},
  handle: (message) => {
    const unit = message.connection.replace("ward", "unit");
    return [send(unit, message.hl7().set("MSH-5", unit))];
  },
});
export const toArchive = defineHandler({
  name: "to-archive",
  outbounds: ["archive"],
  handle: (message) => [send("archive", message.hl7().set("MSH-5", "archive"))],
});
${definitions.join("\n")}
`,
  };
}
