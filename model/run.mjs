/**
 * `npm run model`: searches every row and says how each came out. Exits 1 when one does not come out as written, when a
 * search could not be finished, or when README.md does not tell the same.
 *
 *   --only ID       only this row; may be given more than once
 *   --trail         with it, the steps to the counterexample of a row that fails
 *   --write         write the outcomes into README.md
 *   --check         only compare README.md with the rows, which needs no spin
 *   --rows FILE     the rows (and models beside it) of another module; its README is not asked for
 *   --readme FILE   another README
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { disagreements, readTable, writeTable } from "./readme-table.mjs";
import { MissingProgram, search, stopSearches, trail } from "./search.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const atOnce = 2;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    trail: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    rows: { type: "string" },
    readme: { type: "string" },
  },
});

async function main() {
  const file = resolve(options.rows ?? join(here, "properties.mjs"));
  const written = await import(pathToFileURL(file).href);
  const { rows } = written;
  const readmePath = options.readme ?? (options.rows ? undefined : join(here, "README.md"));
  if (options.check) return agrees(await readFile(readmePath, "utf8"), written);

  const unknown = options.only.filter((id) => !rows.some((row) => row.id === id));
  if (unknown.length > 0) throw new Error(`no such row: ${unknown.join(", ")}`);
  const chosen = rows.filter(({ id }) => options.only.length === 0 || options.only.includes(id));

  const results = await searchAll(chosen, dirname(file));
  const asWritten = results.every(({ row, outcome }) => outcome === row.expect);
  if (!readmePath || options.only.length > 0) return asWritten;
  const readme = await readFile(readmePath, "utf8");
  if (options.write && asWritten) {
    const states = new Map(results.map((result) => [result.row.id, result.states]));
    await writeFile(
      readmePath,
      writeTable(readme, written, (id) => states.get(id)),
    );
    return true;
  }
  warnOfStates(readme, results);
  return agrees(readme, written) && asWritten;
}

async function searchAll(rows, models) {
  const place = await mkdtemp(join(tmpdir(), "holdfast-model-"));
  const cleanUp = async () => {
    stopSearches();
    await rm(place, { recursive: true, force: true, maxRetries: 5 });
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
  const startedAt = performance.now();
  const waiting = rows.entries();
  const results = [];
  const work = async () => {
    for (const [index, row] of waiting) {
      const result = await searchOne(row, models, join(place, String(index)));
      results.push(result);
      console.log(line(result, `${results.length}/${rows.length}`));
      for (const step of result.steps) console.log(`    ${step}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, work));
  } finally {
    await cleanUp();
  }
  const wrong = results.filter(({ row, outcome }) => outcome !== row.expect);
  const states = results.reduce((sum, result) => sum + result.states, 0);
  console.log(
    `${results.length} searches of ${states.toLocaleString("en-US")} states in ${seconds(performance.now() - startedAt)}; ` +
      (wrong.length === 0 ? "all as written" : `NOT as written: ${wrong.map(({ row }) => row.id).join(", ")}`),
  );
  return results;
}

async function searchOne(row, models, place) {
  await mkdir(place);
  const startedAt = performance.now();
  const result = await search(row, models, place);
  const steps = options.trail && result.outcome === "fails" ? await trail(row, place) : [];
  await rm(place, { recursive: true, force: true });
  return { ...result, row, steps, tookMs: performance.now() - startedAt };
}

function line({ row, outcome, states, why, tookMs }, progress) {
  const wrong = outcome === row.expect ? "" : `  <- expected: ${row.expect}. ${why}`;
  const columns = [
    progress.padStart(5),
    row.id.padEnd(26),
    row.property.padEnd(8),
    outcome.padEnd(10),
    `${states.toLocaleString("en-US").padStart(10)} states`,
    seconds(tookMs).padStart(7),
  ];
  return columns.join("  ") + wrong;
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

function agrees(readme, written) {
  const found = disagreements(readme, written);
  for (const sentence of found) console.error(sentence);
  if (found.length > 0) console.error("Write it anew with `node model/run.mjs --write`.");
  return found.length === 0;
}

/** The same spin searches the same states, so another number is worth a look; another spin may well differ. */
function warnOfStates(readme, results) {
  const table = readTable(readme);
  for (const { row, states } of results) {
    const said = table.get(row.id)?.states;
    if (said !== undefined && said !== states)
      console.error(`warning: ${row.id} searched ${states} states, README: ${said}`);
  }
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error instanceof MissingProgram ? error.message : error);
  process.exitCode = 1;
}
