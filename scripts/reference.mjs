/**
 * `node scripts/reference.mjs`: writes docs/reference/{settings,errors,metrics}.md from the code: the catalogue of settings,
 * the catalogue of errors with its comments, and the metrics as they register themselves. Builds first, if needed.
 *
 * test/tidy/reference.test.ts renders the same from the sources and fails when a page differs.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const note = "<!-- Written by scripts/reference.mjs from the code. Change the code, then run it again. -->";

/** Every page by its path, from the modules that it describes. */
export function renderReference({ catalogue, foreignNames, snakeCase, errorsSource, ElectionMetrics, Registry }) {
  return {
    "docs/reference/settings.md": renderSettings(catalogue, foreignNames, snakeCase),
    "docs/reference/errors.md": renderErrors(readErrors(errorsSource)),
    "docs/reference/metrics.md": renderMetrics(readMetrics(ElectionMetrics, Registry)),
  };
}

function renderSettings(catalogue, foreignNames, snakeCase) {
  const sections = sectionsOf(catalogue, snakeCase).map(
    ({ path, settings }) => `### \`[${path}]\`

${table(["setting", "in code", "default", "must be", "meaning"], settings)}`,
  );
  const foreign = Object.entries(foreignNames).map(([theirs, ours]) => [`\`${theirs}\``, `\`${ours}\``]);
  return `${note}

# Settings

\`createNode\` takes them as an object of sections, in camelCase, and reads no file and no environment. Errors name a setting
in snake_case, as the first column does. An unknown key is an error that names the nearest one; a wrong value is an error
that says what it must be. Either is \`BAD_SETTINGS\`, before anything is opened.

\`\`\`js
await createNode({ store: { url, poolSize: 10 }, cluster: { enabled: true, leaderElection: { takeover: "lease" } } });
\`\`\`

## All of them

${sections.join("\n\n")}

### \`[roles.<role>]\`

${table(
  ["setting", "in code", "default", "must be", "meaning"],
  [
    [
      "`roles.<role>.lock_key`",
      "`roles[role].lockKey`",
      "a hash of schema, cluster and role",
      "a whole number of 64 bits",
      "Pins the key of the role's advisory lock. The same on every node, and another for every role.",
    ],
  ],
)}

\`createNode\` also takes \`store.pool\` (a \`pg.Pool\` of yours for fenced transactions and reads), \`logger\` (pino) and
\`registry\` (prom-client).

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
function sectionsOf(section, snakeCase, path = [], codePath = []) {
  const entries = Object.entries(section);
  const settings = entries.filter(([, entry]) => isSetting(entry));
  const own = {
    path: path.join("."),
    settings: settings.map(([key, setting]) => [
      `\`${[...path, snakeCase(key)].join(".")}\``,
      `\`${[...codePath, key].join(".")}\``,
      `\`${JSON.stringify(setting.fallback)}\``,
      mustBe(setting),
      setting.doc,
    ]),
  };
  const inner = entries
    .filter(([, entry]) => !isSetting(entry))
    .flatMap(([key, entry]) => sectionsOf(entry, snakeCase, [...path, snakeCase(key)], [...codePath, key]));
  return settings.length > 0 ? [own, ...inner] : inner;
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

function readMetrics(ElectionMetrics, Registry) {
  const registry = new Registry();
  const metrics = new ElectionMetrics(registry, "holdfast_");
  metrics.addRole("role", () => ({}));
  return registry.getMetricsAsArray().map((metric) => ({
    name: metric.name,
    kind: metric.constructor.name.toLowerCase(),
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
  const buckets = [...new Set(metrics.filter((metric) => metric.buckets.length > 0).map((m) => m.buckets.join(", ")))];
  const reasons = metrics.flatMap((metric) => metric.reasons);
  return `${note}

# Metrics

In the registry that \`createNode\` is given, or in \`node.registry\`. The prefix is the setting \`metrics.prefix\`. Every series of a
role exists at 0 from \`node.role(name)\` on.

${table(["name", "kind", "labels", "meaning"], rows)}

- \`reason\` is one of ${reasons.map(code).join(", ")}.
- Buckets, in seconds: ${buckets.join("; ")}.
`;
}

/** Padded as Biome pads them, so that a page which was just written passes the check. */
function table(head, rows) {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => String(cell).replaceAll("|", "\\|")));
  const widths = head.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
  const [first, ...others] = lines.map(line);
  return [first, line(widths.map((width) => "-".repeat(width))), ...others].join("\n");
}

async function writeReference() {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
  const built = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, stdio: "inherit" });
  if (built.status !== 0) process.exit(built.status ?? 1);
  const load = (path) => import(pathToFileURL(join(root, "dist", path)).href);
  const { catalogue, foreignNames } = await load("config/catalogue.js");
  const { snakeCase } = await load("config/read-settings.js");
  const { ElectionMetrics } = await load("telemetry/metrics.js");
  const { Registry } = await import("prom-client");
  const errorsSource = readFileSync(join(root, "src/errors.ts"), "utf8");
  const pages = renderReference({ catalogue, foreignNames, snakeCase, errorsSource, ElectionMetrics, Registry });
  for (const [path, page] of Object.entries(pages)) writeFileSync(join(root, path), page);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeReference();
