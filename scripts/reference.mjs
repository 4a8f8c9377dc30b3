/**
 * `node scripts/reference.mjs`: writes docs/reference/{settings,errors,metrics,cli}.md from the code: the catalogue of settings,
 * the catalogue of errors with its comments, the metrics as they register themselves, and the commands as they are defined.
 * Builds first, if needed.
 *
 * test/tidy/reference.test.ts renders the same from the sources and fails when a page differs.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { renderCommands } from "./command-reference.mjs";
import { markdownTable as table } from "./markdown-table.mjs";

const note = "<!-- Written by scripts/reference.mjs from the code. Change the code, then run it again. -->";

/** Every page by its path, from the modules that it describes. */
export function renderReference({ settings, errorsSource, metrics, program }) {
  return {
    "docs/reference/settings.md": renderSettings(settings),
    "docs/reference/errors.md": renderErrors(readErrors(errorsSource)),
    "docs/reference/metrics.md": renderMetrics(readMetrics(metrics)),
    "docs/reference/cli.md": renderCommands(program, { note, table }),
  };
}

const settingColumns = ["setting", "in code", "in the environment", "default", "must be", "meaning"];

/** `settings` is what src/config says of itself: its catalogue, the names from elsewhere, and how it names and shows things. */
function renderSettings(settings) {
  const sections = sectionsOf(settings, settings.catalogue).map(
    ({ heading, doc, head = settingColumns, rows }) => `### \`${heading}\`\n\n${doc}${table(head, rows)}`,
  );
  const foreign = Object.entries(settings.foreignNames).map(([theirs, ours]) => [`\`${theirs}\``, `\`${ours}\``]);
  return `${note}

# Settings

\`holdfast serve\` reads \`holdfast.toml\` in the current directory, or the file that \`--service-config\` or
\`HOLDFAST_SERVICE_CONFIG\` names, and then the environment, which overrides the file. [An example](../../examples/holdfast.toml)
has every key. \`holdfast config check\` shows what a node would use, and where each value came from.

\`createNode\` takes the same settings as an object of sections, in camelCase, and reads no file and no environment:

\`\`\`js
await createNode({ store: { url, poolSize: 10 }, cluster: { enabled: true, leaderElection: { takeover: "lease" } } });
\`\`\`

- An unknown key is an error that names the nearest one; a wrong value is an error that says what it must be. All of them are
  told at once, a line each, as one \`BAD_SETTINGS\`, before anything is opened. Errors name a setting as the first column does,
  or by its variable where it came from there.
- In the environment lists are separated by commas, flags are \`true\`, \`false\`, \`1\` or \`0\`, and tables are JSON. A variable that
  starts with \`HOLDFAST_\` and is no setting is an error, but for \`HOLDFAST_URL\`, \`HOLDFAST_TOKEN\`, \`HOLDFAST_SERVICE_CONFIG\`,
  \`HOLDFAST_TEST_*\`, and what Kubernetes sets for a service that is called holdfast.
- Numbers ending in \`_seconds\` are seconds; other durations are written \`"500ms"\`, \`"5s"\`, \`"1m"\`, \`"24h"\`, \`"7d"\`.
- Secrets are never printed, logged or put into an error. The password, the webhook and the routing key are not taken from a
  file at all; a URL with a password in it is.

## All of them

${sections.join("\n\n")}

\`createNode\` also takes \`store.pool\` (a \`pg.Pool\` of yours for fenced transactions and reads), \`logger\` (pino) and
\`registry\` (prom-client).

## What serving needs

A node that binds a port, and \`holdfast config check\`, refuse further:

- \`api.host\` off loopback without \`api.tls_cert\`, unless \`api.insecure_http = true\`.
- A certificate, key or \`store.tls_ca\` that cannot be read.
- An alert that notifies Slack or PagerDuty without the secret for it.

Where \`api.public_url\` is empty, it is \`http(s)://hostname:port\`; where \`api.host\` is a loopback address, that address.

## Timings that must fit together

They are checked when a node starts, and the error says which one to change:

- heartbeat < fence timeout < lease TTL.
- The TTL outlasts the fence timeout by enough for clocks whose rates differ by 1 %, and 20 ms: with a fence timeout of 3.5 s
  it is at least 3.591 s.
- Between the latest beat (the heartbeat and its jitter of 20 %) and the fence timeout there is room for a renewal and one
  retry, of at least 100 ms each. Half of that room, but at most 5 s, is how long a request may take before its session is given up.
- The node timeout is above the heartbeat.
- An evidence grace is 0 or at least 100 ms, and below the fence timeout.

A crash costs milliseconds with \`takeover = "evidence"\`, and what is left of the lease otherwise. A stall or a partition
always costs the TTL. Shorter timings make both shorter, and make a slow database or a busy process lose the role sooner.

## Connections that a node needs

${table(
  ["connections", "how many", "when"],
  [
    ["lock session", "1", "always: beats, renewals and the locks that tell a crash"],
    ["witness session", "1", "always, but not behind a pooler"],
    [
      "campaign sessions",
      "1 for each role that the node is heir of",
      "while another node leads; a standby that is not the heir opens one when a lease is open, until it is decided",
    ],
    [
      "pool",
      "up to `store.pool_size`",
      "opened when used: fenced transactions, `verify`, reads, the start; or your own pool in its place",
    ],
  ],
)}

Whoever opens the jobs (\`holdfast serve\` with the role \`scheduler\`, or \`createJobs\`) contends for three roles: \`scheduler\`,
\`log_compactor\` and \`metrics_aggregator\`.

So a node that contends for R roles needs at most **2 + R + pool_size** connections, and a node that leads all of its roles
2 + pool_size. Each role has one heir: N nodes with R roles need 2N + R, and their pools, while nothing happens. Give the
server room for 2N + N·R and the pools, because every standby may ask when a leader is gone. The first three kinds go to
\`store.election_url\` where that is set.

## Names from elsewhere

Other systems call these things otherwise. Their names are not accepted; the error says ours.

${table(["theirs", "ours"], foreign)}
`;
}

/** Sections in the order of the catalogue; a section within one follows it. */
function sectionsOf(settings, section, path = [], codePath = []) {
  const entries = Object.entries(section);
  const own = entries.filter(([, entry]) => isSetting(entry));
  const rows = own.map(([key, setting]) =>
    settingRow(settings, setting, [...path, settings.snakeCase(key)], [...codePath, key]),
  );
  const inner = entries
    .filter(([, entry]) => !isSetting(entry))
    .flatMap(([key, entry]) => innerSections(settings, entry, [...path, settings.snakeCase(key)], [...codePath, key]));
  return rows.length > 0 ? [{ heading: `[${path.join(".")}]`, doc: "", rows }, ...inner] : inner;
}

function innerSections(settings, entry, path, codePath) {
  const name = path.join(".");
  const code = codePath.join(".");
  if (entry.kind === "tables") {
    const [{ rows }] = sectionsOf(settings, entry.columns, [`${name}[]`], [`${code}[]`]);
    const variable = `All of them as JSON in \`${settings.environmentName(name)}\`, with the names of the first column.`;
    const doc = `${entry.doc} ${variable}\n\n`;
    const withoutVariable = (cells) => cells.toSpliced(2, 1);
    const head = withoutVariable(settingColumns);
    return [{ heading: `[[${name}]]`, doc, head, rows: rows.map(withoutVariable) }];
  }
  if (entry.kind === "named") {
    const [{ rows }] = sectionsOf(settings, entry.each, [name, entry.placeholder], [`${code}[role]`]);
    return [{ heading: `[${name}.${entry.placeholder}]`, doc: `${entry.doc}\n\n`, rows }];
  }
  return sectionsOf(settings, entry, path, codePath);
}

function settingRow({ environmentName, showValue }, setting, path, codePath) {
  const name = path.join(".");
  const fallback = showValue(setting, setting.fallback);
  return [
    `\`${name}\``,
    `\`${codePath.join(".")}\``,
    `\`${environmentName(name)}\``,
    setting.required ? "none" : fallback === "(not set)" ? "not set" : `\`${fallback}\``,
    mustBe(setting),
    setting.doc,
  ];
}

function isSetting(entry) {
  return typeof entry.read === "function";
}

/** What a setting accepts is what it says of a value that nothing accepts. */
function mustBe(setting) {
  const read = setting.read(Symbol("nothing accepts this"));
  if (!("mustBe" in read)) throw new Error("a setting accepts a symbol");
  return read.mustBe.replaceAll(/"([^"]*)"/g, '`"$1"`');
}

/** The meaning of an error is the comment above it. */
function readErrors(source) {
  const entry = /\/\*\* (?<meaning>.+?) \*\/\n {2}(?<code>[A-Z_]+): \{ status: (?<status>\d+), exit: (?<exit>\d+) \}/g;
  return [...source.matchAll(entry)].map(({ groups }) => groups);
}

function renderErrors(errors) {
  const rows = errors.map(({ code, status, exit, meaning }) => [`\`${code}\``, status, exit, meaning]);
  return `${note}

# Errors

A failure that Holdfast reports is a \`HoldfastError\`: \`code\` stands in this table, \`message\` is a sentence that says what to do,
\`details\` and \`cause\` hold the rest, \`status\` and \`exitCode\` are what HTTP and a command line make of it. Three have a class of
their own, for \`instanceof\`: \`NotLeaderError\` (\`NOT_LEADER\`), \`StaleEpochError\` (\`STALE_EPOCH\`) and \`DrainingError\` (\`DRAINING\`).
What your own statements cause inside \`term.transaction\` is passed on as the driver threw it.

${table(["code", "HTTP status", "exit code", "meaning"], rows)}

## What to retry

- \`STALE_EPOCH\` and \`NOT_LEADER\` from \`verify\`: never with this term. Another node leads, or will.
- \`NOT_LEADER\` from a gate while \`term.signal\` is not aborted: the gate is shut for the moment (a lost session, a late
  renewal). The term may go on, so try again a little later; a \`lead\` function that lets it out gives the role up.
- \`DATABASE_AWAY\`: later. Holdfast itself does so, with a growing pause.
- \`UNKNOWN_OUTCOME\`: only after looking whether the transaction is there, or with an idempotency key.
`;
}

function readMetrics({
  ElectionMetrics,
  ClusterMetrics,
  QueueMetrics,
  JobMetrics,
  CronMetrics,
  CompactionMetrics,
  EngineMetrics,
  AlertMetrics,
  HttpMetrics,
  Registry,
}) {
  const registry = new Registry();
  const prefix = "holdfast_";
  new ElectionMetrics(registry, prefix).addRole("role", () => ({}));
  new ClusterMetrics(registry, prefix, () => ({}));
  new QueueMetrics(registry, prefix);
  new JobMetrics(registry, prefix, async () => await Promise.resolve({}));
  new CronMetrics(registry, prefix);
  new CompactionMetrics(registry, prefix);
  new EngineMetrics(registry, prefix);
  new AlertMetrics(registry, prefix, () => new Map());
  const http = new HttpMetrics(registry, prefix);
  const metrics = registry.getMetricsAsArray();
  http.remove(); // It watches the event loop.
  return metrics.map((metric) => ({
    name: metric.name,
    kind: metric.type,
    labels: metric.labelNames,
    help: metric.help,
    buckets: metric.upperBounds ?? [],
    reasons: reasonsOf(metric),
  }));
}

/** The reasons that a counter starts at 0 for. */
function reasonsOf(metric) {
  if (!metric.labelNames.includes("reason")) return [];
  return Object.values(metric.hashMap).map(({ labels }) => labels.reason);
}

function renderMetrics(metrics) {
  const code = (text) => `\`${text}\``;
  const rows = metrics.map(({ name, kind, labels, help }) => [code(name), kind, labels.map(code).join(", "), help]);
  const timed = metrics.filter((metric) => metric.buckets.length > 0);
  const buckets = [...new Set(timed.map((metric) => metric.buckets.join(", ")))].map((bounds) => {
    const names = timed.filter((metric) => metric.buckets.join(", ") === bounds).map(({ name }) => code(name));
    return `- Buckets of ${names.join(", ")}, in seconds: ${bounds}.`;
  });
  const reasons = metrics.flatMap((metric) => metric.reasons);
  return `${note}

# Metrics

In the registry that \`createNode\` is given, or in \`node.registry\`. The prefix is the setting \`metrics.prefix\`. Every series of a
role exists at 0 from \`node.role(name)\` on, and of a queue from \`createQueue\` on: its leader says what is, the others say 0. Those
of a connection are there while it is in the configuration that the node runs, and those of HTTP while a server is.

${table(["name", "kind", "labels", "meaning"], rows)}

- \`reason\` is one of ${reasons.map(code).join(", ")}.
${buckets.join("\n")}

## The whole cluster

\`GET /metrics/cluster\` answers with the series of every living node, each with its label \`node\`. Each node leaves a copy of its
own every 15 s, and when it gains or loses a role.

Below them are the totals. Every counter and every histogram \`holdfast_x\` of the nodes is there once more as
\`holdfast_cluster_x\`, without the label \`node\`; a counter of yours in the same registry, \`y\`, as \`holdfast_cluster_y\`. The leader of
the role \`metrics_aggregator\` puts them together every 15 s, by one rule: **a total is the sum, over every process that was ever
seen, of the highest value in its copies.** So it never goes down: what a node counted that has died, has left or was
restarted stays in it, and so it does when the role changes hands. What a process counted after its last copy is lost with
it. A process that is not seen for 7 days is taken to be gone for good; if it came back, it would count twice. A counter that is
reset in a running process counts on when it is higher than before.

\`holdfast_cluster_metrics_age_seconds\` (a gauge) tells how long ago that was. The totals, and the series of the nodes, are kept as a
point every 15 s for two hours (\`holdfast.metric_points\`), so that an increase can be told of each of them. Nodes contend for
\`metrics_aggregator\` from when they open the jobs: \`holdfast serve\` with the role \`scheduler\`, or \`createJobs\`. Where none does, there
are no totals.
`;
}

async function writeReference() {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
  const built = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) process.exit(built.status ?? 1);
  const load = (path) => import(pathToFileURL(join(root, "dist", path)).href);
  const settings = {
    ...(await load("config/catalogue.js")),
    ...(await load("config/environment-name.js")),
    ...(await load("config/foreign-names.js")),
    ...(await load("config/setting.js")),
    ...(await load("config/shape.js")),
  };
  const metrics = {
    ...(await load("telemetry/metrics.js")),
    ...(await load("telemetry/cluster-metrics.js")),
    ...(await load("telemetry/queue-metrics.js")),
    ...(await load("telemetry/cron-metrics.js")),
    ...(await load("telemetry/job-metrics.js")),
    ...(await load("telemetry/compaction-metrics.js")),
    ...(await load("telemetry/engine-metrics.js")),
    ...(await load("telemetry/alert-metrics.js")),
    ...(await load("telemetry/http-metrics.js")),
    Registry: (await import("prom-client")).Registry,
  };
  const errorsSource = readFileSync(join(root, "src/errors.ts"), "utf8");
  // A command line is needed to run a command, and not to describe it.
  const program = (await load("cli/program.js")).createProgram({});
  const pages = renderReference({ settings, errorsSource, metrics, program });
  for (const [path, page] of Object.entries(pages)) writeFileSync(join(root, path), page);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeReference();
