/**
 * `node scripts/reference.mjs`: writes docs/reference/{settings,errors,metrics,cli,library}.md from the code: the catalogue of
 * settings, the catalogue of errors with its comments, the metrics as they register themselves, the commands as they are
 * defined, and what the package exports as it is declared. Builds first, if needed.
 *
 * test/tidy/reference.test.ts renders the same from the sources and fails when a page differs. Of the pages that people write,
 * sql.md is held to the schema by test/integration/sql-reference.test.ts, promql.md by src/alerts/promql/signatures.test.ts,
 * and http.md by test/api/http-reference.test.ts, its bounds by test/api/limits.test.ts.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { renderCommands } from "./command-reference.mjs";
import { renderLibrary } from "./library-reference.mjs";
import { markdownTable as table } from "./markdown-table.mjs";
import { renderMetrics } from "./metric-reference.mjs";
import { renderSettings } from "./settings-reference.mjs";

const note = "<!-- Written by scripts/reference.mjs from the code. Change the code, then run it again. -->";

/** Every page by its path, from the modules that it describes. */
export function renderReference({ settings, metrics, program, read }) {
  return {
    "docs/reference/settings.md": renderSettings(settings, { note, table }),
    "docs/reference/errors.md": renderErrors(readErrors(read("src/errors.ts"))),
    "docs/reference/metrics.md": renderMetrics(metrics, { note, table }),
    "docs/reference/cli.md": renderCommands(program, { note, table }),
    "docs/reference/library.md": renderLibrary(read, { note, table }),
  };
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
  const metrics = { ...(await load("telemetry/metric-catalogue.js")), ...(await load("telemetry/metrics.js")) };
  const read = (path) => readFileSync(join(root, path), "utf8");
  // A command line is needed to run a command, and not to describe it.
  const program = (await load("cli/program.js")).createProgram({});
  const pages = renderReference({ settings, metrics, program, read });
  for (const [path, page] of Object.entries(pages)) writeFileSync(join(root, path), page);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeReference();
