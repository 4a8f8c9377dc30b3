import { parseCondition } from "../alerts/promql/parse-condition.js";
import type { Catalogue } from "./catalogue.js";
import { isLocalServer, parseDatabaseUrl } from "./database-url.js";
import { isUnreadable } from "./read-settings.js";
import type { Secret } from "./secret.js";
import type { Values } from "./shape.js";

/** What was read, and what is known beside it. */
export interface Settled {
  readonly values: Values<Catalogue>;
  readonly stated: ReadonlySet<string>;
  readonly unreadable: ReadonlySet<string>;
  readonly backend: "embedded" | "postgres";
  /** The caller brings a pool or a store of its own. */
  readonly ownConnection: boolean;
}

/** A rule over several settings: judged only where all of them could be read. */
interface Invariant {
  readonly of: readonly string[];
  readonly problem: (settled: Settled) => string | null;
}

const hasServer = ({ values: { store }, ownConnection }: Settled): boolean =>
  ownConnection || !store.url.isEmpty || store.server !== "";

const parts = ["server", "port", "database", "username"] as const;

/** An address that came from a variable which nobody has set looks like one that was forgotten. */
function howToName(settled: Settled): string {
  return `set store.url (HOLDFAST_STORE_URL)${hasServer(settled) ? "" : ", which has no value now"}`;
}

const invariants: readonly Invariant[] = [
  {
    of: ["store.backend", "store.url", "store.server", "store.election_url"],
    problem: (settled) =>
      settled.backend === "embedded" && (hasServer(settled) || !settled.values.store.electionUrl.isEmpty)
        ? 'store.backend = "embedded" takes no url, server or pool: leave them out, or set backend = "postgres".'
        : null,
  },
  {
    of: ["store.backend", "store.url", "store.server"],
    problem: (settled) =>
      settled.backend === "postgres" && !hasServer(settled)
        ? 'store.backend = "postgres" needs store.url, or store.server with database and username.'
        : null,
  },
  {
    of: ["store.url", ...parts.map((part) => `store.${part}`)],
    problem: ({ values: { store }, stated }) => {
      const twice = parts.find((part) => stated.has(`store.${part}`) && store[part] !== "");
      return !store.url.isEmpty && twice !== undefined
        ? `store.url says where the database is, and so does store.${twice}: leave one of them out.`
        : null;
    },
  },
  { of: ["store.url"], problem: ({ values: { store } }) => urlProblem("store.url", store.url) },
  {
    of: ["store.election_url"],
    problem: ({ values: { store } }) => urlProblem("store.election_url", store.electionUrl),
  },
  { of: ["store.url", "store.server", "store.tls"], problem: (settled) => tlsProblem(settled, "store.url") },
  { of: ["store.election_url", "store.tls"], problem: (settled) => tlsProblem(settled, "store.election_url") },
  {
    of: ["cluster.enabled", "store.backend", "store.url", "store.server"],
    problem: (settled) =>
      settled.values.cluster.enabled && settled.backend === "embedded"
        ? `cluster.enabled = true needs a server database that the nodes share: ${howToName(settled)}.`
        : null,
  },
  {
    of: ["cluster.enabled", "store.pool_size"],
    problem: ({ values: { cluster, store } }) =>
      cluster.enabled && store.poolSize < 2
        ? `store.pool_size (${store.poolSize}) must be at least 2 in a cluster: reads would wait behind a transaction.`
        : null,
  },
  {
    of: ["cluster.enabled", "cluster.min_nodes"],
    problem: ({ values: { cluster } }) =>
      !cluster.enabled && cluster.minNodes > 1
        ? `cluster.min_nodes (${cluster.minNodes}) needs cluster.enabled = true: a single node would never be ready.`
        : null,
  },
  {
    of: ["cluster.forget_after", "cluster.node_timeout_seconds"],
    problem: ({ values: { cluster } }) =>
      cluster.forgetAfter.ms < cluster.nodeTimeoutSeconds * 1000
        ? `cluster.forget_after (${cluster.forgetAfter.written}) must not be below cluster.node_timeout_seconds ` +
          `(${cluster.nodeTimeoutSeconds}): a node would be forgotten before it is called dead.`
        : null,
  },
  {
    of: ["jobs.drain_grace_seconds", "shutdown.drain_timeout_seconds"],
    problem: ({ values: { jobs, shutdown }, stated }) =>
      stated.has("jobs.drain_grace_seconds") && jobs.drainGraceSeconds > shutdown.drainTimeoutSeconds
        ? `jobs.drain_grace_seconds (${jobs.drainGraceSeconds}) must not be above shutdown.drain_timeout_seconds ` +
          `(${shutdown.drainTimeoutSeconds}): the node would be gone before the grace is over.`
        : null,
  },
  {
    of: ["shutdown.poll_interval_ms", "shutdown.drain_timeout_seconds"],
    problem: ({ values: { shutdown }, stated }) =>
      stated.has("shutdown.poll_interval_ms") && shutdown.pollIntervalMs > shutdown.drainTimeoutSeconds * 1000
        ? `shutdown.poll_interval_ms (${shutdown.pollIntervalMs}) must not be above shutdown.drain_timeout_seconds ` +
          `(${shutdown.drainTimeoutSeconds}): a drain would never see that it is done.`
        : null,
  },
  {
    of: ["alerting.interval"],
    problem: ({ values: { alerting } }) =>
      alerting.interval.ms < 250 || alerting.interval.ms > 60_000
        ? `alerting.interval (${alerting.interval.written}) must be from 250ms to 1m.`
        : null,
  },
  { of: ["jobs.timeout"], problem: ({ values: { jobs } }) => positive("jobs.timeout", jobs.timeout.ms) },
  { of: ["jobs.backoff"], problem: ({ values: { jobs } }) => positive("jobs.backoff", jobs.backoff.ms) },
  {
    of: ["api.tls_cert", "api.tls_key"],
    problem: ({ values: { api } }) =>
      (api.tlsCert === "") !== (api.tlsKey === "")
        ? `api.tls_${api.tlsCert === "" ? "key needs api.tls_cert" : "cert needs api.tls_key"}: set both, or neither.`
        : null,
  },
];

/** Every rule that is broken, a line each. */
export function brokenInvariants(settled: Settled): readonly string[] {
  const broken = invariants.flatMap(({ of, problem }) => {
    const found = of.some((path) => isUnreadable(settled, path)) ? null : problem(settled);
    return found === null ? [] : [found];
  });
  return [...broken, ...alertProblems(settled)];
}

/** Rules that are off need no condition, and one that they have is read all the same. */
function alertProblems(settled: Settled): readonly string[] {
  return settled.values.alerts.flatMap(({ enabled, condition }, index) => {
    const name = `alerts[${index}].condition`;
    if (isUnreadable(settled, name)) return [];
    if (condition === "") return enabled ? [`${name} is missing.`] : [];
    const parsed = parseCondition(condition);
    return parsed.kind === "parsed" ? [] : [`${name} is refused: ${parsed.reason}.\n${parsed.marked}`];
  });
}

/** The URL is not shown: it may carry a password. */
function urlProblem(name: string, url: Secret): string | null {
  if (url.isEmpty || parseDatabaseUrl(url.reveal()) !== null) return null;
  return `${name} is not a URL like postgres://user@host:5432/database.`;
}

function tlsProblem({ values: { store }, stated }: Settled, name: "store.url" | "store.election_url"): string | null {
  const url = name === "store.url" ? store.url : store.electionUrl;
  const where = parseDatabaseUrl(url.reveal()) ?? { host: name === "store.url" ? store.server : "", sslmode: null };
  const unencrypted = stated.has("store.tls")
    ? store.tls === "disable"
    : ["disable", "allow", "prefer"].includes(where.sslmode ?? "");
  if (!unencrypted || isLocalServer(where.host)) return null;
  return (
    'store.tls = "disable", or sslmode=disable, is for a server on this machine, and ' +
    `${url.isEmpty ? "store.server" : name} names another: use "verify-full" or "require".`
  );
}

function positive(name: string, ms: number): string | null {
  return ms > 0 ? null : `${name} must be longer than 0.`;
}
