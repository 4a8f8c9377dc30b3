import type { Expectations } from "./expectations.js";
import type { Facts, SchemaFacts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";

/** Whether this code and this cluster may use the schema as it is. */
export function checkSchema({ schema }: Facts, expected: Expectations): readonly Finding[] {
  if (schema === null) return [];
  const { codeVersion } = expected;
  const name = `Schema "${expected.schema}"`;
  if (!schema.exists) return [outdated(schema, expected, `${name} is not there yet.`, schema.mayCreate)];
  if (schema.version === null || schema.oldestCode === null) {
    return [ok("schema", `${name} is there; this role may not see its version.`)]; // The permissions say why.
  }
  const found: Finding[] = [];
  if (schema.oldestCode > codeVersion) {
    found.push(
      problem(
        "schema",
        `${name} is at version ${schema.version} and runs only with code of version ${schema.oldestCode} or newer; this is ${codeVersion}.`,
        "Upgrade Holdfast on this machine: a newer one has migrated the schema.",
      ),
    );
  } else if (schema.version < codeVersion) {
    const message = `${name} is at version ${schema.version}, this code needs ${codeVersion}.`;
    found.push(outdated(schema, expected, message, schema.owns));
  }
  if (schema.cluster !== null && schema.cluster !== expected.cluster) {
    found.push(
      problem(
        "schema",
        `${name} belongs to cluster "${schema.cluster}", not "${expected.cluster}".`,
        "Set cluster.name to that, or store.schema to one of its own.",
      ),
    );
  }
  const newer = schema.version > codeVersion ? `, newer than this code (${codeVersion}), which may still use it` : "";
  return orOk(found, ok("schema", `${name} is at version ${schema.version}${newer}.`));
}

function outdated(schema: SchemaFacts, expected: Expectations, message: string, mayMigrate: boolean): Finding {
  if (expected.migrate === "auto" && mayMigrate) {
    return warning("schema", message, 'The next node migrates it as it starts; or run "holdfast migrate" now.');
  }
  const who = schema.owner === null ? "as a role that may create a schema" : `as "${schema.owner}", who owns it`;
  return problem("schema", message, `Run "holdfast migrate" ${who}.`);
}

/** Whether this role may do what a node does. */
export function checkPermissions({ main, server, schema }: Facts): readonly Finding[] {
  if (schema === null || !schema.exists || main.kind !== "reached") return [];
  const { user } = main;
  if (schema.lacking.length > 0) {
    const shown = schema.lacking.slice(0, 4).join(", ");
    const more = schema.lacking.length > 4 ? ` and ${schema.lacking.length - 4} more` : "";
    return [
      problem(
        "permissions",
        `Role "${user}" may not do what a node does: it lacks ${shown}${more}.`,
        `Run "holdfast migrate --grant ${user}" as "${schema.owner}", who owns the schema.`,
      ),
    ];
  }
  const more =
    server?.superuser === true ? ", and more: it is a superuser" : schema.owns ? ", and owns the schema" : "";
  return [ok("permissions", `Role "${user}" may do what a node does${more}.`)];
}

/** G2: whether a failover to a replica that lost commits would be noticed. */
export function checkTimeline({ server, schema, cluster }: Facts): readonly Finding[] {
  if (server === null || schema === null || server.inRecovery || schema.version === null) return [];
  if (schema.identity === null) {
    if (schema.lacking.length > 0) return [];
    return [
      warning(
        "timeline",
        "The database's identity cannot be read: epochs may repeat if it fails over to a replica that lost commits.",
        `Let the owner of the schema read it: GRANT EXECUTE ON FUNCTION pg_control_system() TO "${schema.owner}".`,
      ),
    ];
  }
  const strangers = cluster?.leases.filter(({ identity }) => identity !== null && identity !== schema.identity) ?? [];
  return orOk(
    strangers.map(({ role }) =>
      warning(
        "timeline",
        `The lease of role "${role}" was written by another database: this one was promoted or restored since.`,
        "Nothing, if nodes run: the next of them to ask leaves a TTL without a leader, then epochs go on above all old ones.",
      ),
    ),
    ok("timeline", `The database is known as ${schema.identity}: a failover that loses commits would be noticed.`),
  );
}
