import { charsetNamed } from "../charset.js";
import { isName, nameMustBe } from "../core/graph-names.js";
import { titleOf } from "../core/graph-part.js";
import type {
  AckOptions,
  Definition,
  HandlerOptions,
  InboundOptions,
  OutboundOptions,
  ReferenceOptions,
  RetryOptions,
  RouterOptions,
} from "../definition.js";
import { Fields } from "../transports/setting-fields.js";
import type { PlacedDefinition } from "./placed-definition.js";
import { checkInboundTransport, checkOutboundTransport } from "./transport-checks.js";

/** How a line about a definition begins: its module, then the definition, by its export where its name is none. */
function whereOf({ definition, file, exportedAs }: PlacedDefinition): string {
  const { kind, name } = definition;
  return isName(name) ? titleOf({ file, kind, name }) : `${file}: export ${exportedAs}`;
}

/** All that is wrong with the fields of one definition, as JavaScript gives them: the types have checked nothing there. */
export function definitionProblems(placed: PlacedDefinition): readonly string[] {
  const { definition } = placed;
  const problems: string[] = [];
  const fields = new Fields(definition, whereOf(placed), ["kind", ...knownFields[definition.kind]], problems);
  if (!isName(definition.name)) problems.push(`${fields.where}.name ${nameMustBe}.`);
  switch (definition.kind) {
    case "inbound":
      checkInbound(fields, problems);
      break;
    case "router":
      checkNames(fields, "handlers", { least: 1 });
      checkFunction(fields, "route");
      break;
    case "handler":
      checkNames(fields, "outbounds");
      if (fields.has("references")) checkNames(fields, "references");
      if (fields.has("state")) checkNames(fields, "state");
      checkFunction(fields, "handle");
      break;
    case "outbound":
      checkOutbound(fields, problems);
      break;
    case "reference":
      checkReference(fields);
      break;
  }
  return problems;
}

const knownFields: Readonly<Record<Definition["kind"], readonly string[]>> = {
  inbound: [
    "name",
    "router",
    "transport",
    "format",
    "charset",
    "duplicates",
    "acks",
  ] satisfies (keyof InboundOptions)[],
  router: ["name", "handlers", "route"] satisfies (keyof RouterOptions)[],
  handler: ["name", "outbounds", "references", "state", "handle"] satisfies (keyof HandlerOptions)[],
  outbound: ["name", "transport", "lane", "lanes", "unconfirmed", "retry"] satisfies (keyof OutboundOptions)[],
  reference: ["name", "from", "key", "every"] satisfies (keyof ReferenceOptions)[],
};

function checkInbound(fields: Fields, problems: string[]): void {
  if (!isName(fields.value("router"))) fields.bad("router", "the name of the router that gets what comes in");
  fields.oneOf("format", ["hl7v2", "raw"], "hl7v2");
  const charset = fields.textOrNull("charset", charsetMustBe);
  if (charset !== null && charset !== "" && !isCharset(charset)) fields.bad("charset", charsetMustBe);
  fields.oneOf("duplicates", ["answer", "accept"], "answer");
  const acks = fields.section("acks", ["mode", "malformed"] satisfies (keyof AckOptions)[]);
  acks?.oneOf("mode", ["auto", "original", "enhanced"], "auto");
  acks?.oneOf("malformed", ["AE", "AR"], "AR");
  problems.push(...checkInboundTransport(fields.value("transport"), `${fields.where}.transport`));
}

const charsetMustBe = 'the name of a charset, like "ISO-8859-1" or "windows-1252"';

function isCharset(name: string): boolean {
  try {
    charsetNamed(name);
    return true;
  } catch {
    return false;
  }
}

const mostLanes = 256;

function checkOutbound(fields: Fields, problems: string[]): void {
  if (fields.has("lane")) checkFunction(fields, "lane");
  if (fields.has("lanes")) fields.whole("lanes", null, { min: 1, max: mostLanes });
  fields.oneOf("unconfirmed", ["resend", "stop", "skip"], "resend");
  const retry = fields.section("retry", ["attempts", "backoff", "cap"] satisfies (keyof RetryOptions)[]);
  const attempts = retry?.value("attempts") ?? "forever";
  const isCount = Number.isInteger(attempts) && Number(attempts) >= 1 && Number(attempts) <= 1_000_000;
  if (attempts !== "forever" && !isCount) retry?.bad("attempts", 'a whole number from 1 to 1000000, or "forever"');
  retry?.duration("backoff", "1s");
  retry?.duration("cap", "1m");
  problems.push(...checkOutboundTransport(fields.value("transport"), `${fields.where}.transport`));
}

const originFields: Readonly<Record<string, readonly string[]>> = {
  file: ["kind", "path", "format"],
  sql: ["kind", "urlFrom", "query"],
  http: ["kind", "url", "headers", "format"],
};

function checkReference(fields: Fields): void {
  fields.text("key", null, "the name of the column that a row is found by");
  fields.duration("every", "5m", 1_000);
  const given = fields.value("from");
  const kind = typeof given === "object" && given !== null && "kind" in given ? given.kind : undefined;
  const known = typeof kind === "string" && Object.hasOwn(originFields, kind) ? originFields[kind] : undefined;
  const from = known === undefined ? null : fields.section("from", known);
  if (from === null) return fields.bad("from", `an object whose kind is ${quoted(Object.keys(originFields))}`);
  if (kind === "file") from.text("path", null, "the path of a file");
  if (kind === "sql") from.text("query", null, "the statement that answers the rows");
  if (kind === "sql") from.variable("urlFrom");
  if (kind === "http")
    from.matching("url", null, /^https?:\/\/[^\s]+$/, "an address that begins with http:// or https://");
  if (kind !== "sql") from.oneOf("format", ["csv", "json"], "csv");
  const headers = from.value("headers");
  if (headers !== undefined && !isTextByName(headers)) from.bad("headers", "texts by name");
}

function isTextByName(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every((each) => typeof each === "string");
}

function checkNames(fields: Fields, field: string, { least = 0 }: { readonly least?: number } = {}): void {
  const value = fields.value(field);
  const names: readonly unknown[] | null = Array.isArray(value) ? value : null;
  if (names !== null && names.length >= least && names.every(isName)) return;
  fields.bad(field, `a list of ${least > 0 ? "one or more " : ""}names, like ["a", "b"]`);
}

/** Routers and handlers do no I/O: there is nothing that they would have to wait for. */
function checkFunction(fields: Fields, field: string): void {
  const value = fields.value(field);
  if (typeof value !== "function") return fields.bad(field, "a function of the message");
  const isPlain = Object.prototype.toString.call(value) === "[object Function]";
  if (!isPlain)
    fields.bad(field, "a plain function, neither async nor a generator: it does no I/O, and nobody waits for it");
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(" or ");
}
