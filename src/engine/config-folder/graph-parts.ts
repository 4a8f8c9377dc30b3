import { resolve } from "node:path";
import type { GraphPart, Place } from "../core/graph-part.js";
import type { PlacedDefinition } from "./placed-definition.js";

/** What the checks of the graph look at. The definitions' own fields are sound by then. */
export function graphPartOf({ definition, file }: PlacedDefinition): GraphPart {
  const { name } = definition;
  switch (definition.kind) {
    case "inbound":
      return { kind: "inbound", name, file, router: definition.router, takesFrom: placeOf(definition.transport) };
    case "router":
      return { kind: "router", name, file, handlers: definition.handlers };
    case "handler":
      return { kind: "handler", name, file, outbounds: definition.outbounds, references: definition.references ?? [] };
    case "outbound":
      return { kind: "outbound", name, file, sendsTo: placeOf(definition.transport) };
    case "reference":
      return { kind: "reference", name, file };
  }
}

type Transport = Extract<PlacedDefinition["definition"], { readonly transport: unknown }>["transport"];

/** Only places where an outbound and an inbound can meet without anything between them. */
function placeOf(transport: Transport): Place | null {
  switch (transport.kind) {
    case "mllp":
    case "tcp":
      return { kind: "port", host: transport.host ?? "", port: transport.port };
    case "http":
      return "url" in transport
        ? portOfUrl(transport.url)
        : { kind: "port", host: transport.host ?? "", port: transport.port };
    case "file":
      return { kind: "folder", path: resolve(transport.folder) };
    case "sftp":
    case "database":
      return null;
  }
}

const usualPorts: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

function portOfUrl(written: string): Place | null {
  if (!URL.canParse(written)) return null;
  const { hostname, port, protocol } = new URL(written);
  return { kind: "port", host: hostname, port: port === "" ? (usualPorts[protocol] ?? 0) : Number(port) };
}
