import type { Loaded } from "../engine/config-folder/config-folder.js";
import type { Definition } from "../engine/definition.js";
import type { Column } from "./table.js";

/** A definition of a message graph, in the order in which messages meet them. */
export interface GraphRow {
  readonly kind: Definition["kind"];
  readonly name: string;
  readonly file: string;
  /** What it speaks, and where; empty where it is no connection. */
  readonly transport: string;
  readonly leadsTo: readonly string[];
}

const order: readonly Definition["kind"][] = ["inbound", "router", "handler", "outbound", "reference"];

export function graphRows({ placed }: Loaded): readonly GraphRow[] {
  const rows = placed.map(({ definition, file }): GraphRow => {
    const { kind, name } = definition;
    return { kind, name, file, transport: transportOf(definition), leadsTo: leadsTo(definition) };
  });
  return rows.toSorted(
    (one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || (one.name < other.name ? -1 : 1),
  );
}

function transportOf(definition: Definition): string {
  if (definition.kind === "reference") return placed(definition.from);
  if (definition.kind !== "inbound" && definition.kind !== "outbound") return "";
  const { transport } = definition;
  if ("port" in transport && transport.kind !== "sftp")
    return `${transport.kind} ${transport.host ?? ""}:${transport.port}`;
  return placed(transport);
}

interface Place {
  readonly kind: string;
  readonly folder?: string;
  readonly path?: string;
  readonly url?: string;
}

function placed({ kind, folder, path, url }: Place): string {
  if (url !== undefined) return withoutSecrets(url);
  const place = folder ?? path;
  return place === undefined ? kind : `${kind} ${place}`;
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

function leadsTo(definition: Definition): readonly string[] {
  switch (definition.kind) {
    case "inbound":
      return [definition.router];
    case "router":
      return definition.handlers;
    case "handler":
      return definition.outbounds;
    case "outbound":
    case "reference":
      return [];
  }
}

export const graphColumns: readonly Column<GraphRow>[] = [
  { title: "kind", cell: (row) => row.kind, tone: () => "dim", whole: true },
  { title: "name", cell: (row) => row.name },
  { title: "file", cell: (row) => row.file },
  { title: "transport", cell: (row) => row.transport, spare: true },
  { title: "leads to", cell: (row) => row.leadsTo.join(", ") },
];
