/**
 * `npm run check`: everything that can be said about the code without running it. One line a gate with its time; the
 * whole output of each gate that failed; exit 1 if one did.
 *
 * `node scripts/check.mjs types knip` runs only these gates and what they need. The gates run on the current directory,
 * which is how test/tidy/gates.test.ts proves on small broken projects that each of them can fail.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.cwd();
const scripts = dirname(fileURLToPath(import.meta.url));
const packed = mkdtempSync(join(tmpdir(), "holdfast-pack-"));

const bin = (name) => join(root, "node_modules/.bin", name);
const tarball = () =>
  join(packed, readdirSync(packed).find((name) => name.endsWith(".tgz")) ?? "nothing-was-packed.tgz");

/** Longest first, so that the short ones fill the gaps. */
const gates = [
  { name: "build", needs: [], command: () => [process.execPath, join(scripts, "build.mjs")] },
  { name: "pack", needs: ["build"], command: () => ["npm", "pack", "--ignore-scripts", "--pack-destination", packed] },
  { name: "attw", needs: ["pack"], command: () => [bin("attw"), tarball(), "--profile", "esm-only", "--no-emoji"] },
  { name: "publint", needs: ["pack"], command: () => [bin("publint"), tarball(), "--strict"] },
  { name: "types", needs: [], command: () => [bin("tsc"), "--noEmit", "--pretty", "false", "-p", "."] },
  {
    name: "bench-types",
    needs: ["build"],
    when: () => existsSync(join(root, "bench/src/main.ts")),
    command: () => [bin("tsc"), "--noEmit", "--pretty", "false", "-p", "bench"],
  },
  {
    name: "dashboard-types",
    needs: [],
    when: () => existsSync(join(root, "dashboard/tsconfig.json")),
    command: () => [bin("tsc"), "--noEmit", "--pretty", "false", "-p", "dashboard"],
  },
  {
    name: "dashboard-size",
    needs: ["build"],
    when: () => existsSync(join(root, "dashboard/index.html")),
    command: () => [process.execPath, join(scripts, "dashboard-size.mjs")],
  },
  { name: "knip", needs: ["build"], command: () => [bin("knip"), "--no-progress"] },
  { name: "oxlint", needs: ["build"], command: () => [bin("oxlint"), "--type-aware", "--deny-warnings"] },
  {
    name: "biome",
    needs: [],
    command: () => [
      bin("biome"),
      "ci",
      "--colors=off",
      "--error-on-warnings",
      "--diagnostic-level=warn",
      "--max-diagnostics=200",
      ".",
    ],
  },
  {
    name: "tidy",
    needs: [],
    when: () => existsSync(join(root, "test/tidy/vitest.config.ts")),
    command: () => [bin("vitest"), "run", "--config", "test/tidy/vitest.config.ts", "--reporter=dot"],
  },
];

const byName = new Map(gates.map((gate) => [gate.name, gate]));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !byName.has(name));
if (unknown.length > 0) {
  console.error(`no such gate: ${unknown.join(", ")}; there are ${[...byName.keys()].join(", ")}`);
  process.exit(2);
}

// Some tools take any FORCE_COLOR, even 0, for a yes.
const { FORCE_COLOR: _, ...environment } = process.env;
const plainEnvironment = { ...environment, NO_COLOR: "1" };

const startedAt = performance.now();
const free = { slots: Math.max(2, availableParallelism()), waiting: [] };
const outcomes = new Map();

try {
  const chosen = asked.length > 0 ? asked.map((name) => byName.get(name)) : gates;
  await Promise.all(chosen.map(outcomeOf));
  const results = await Promise.all(outcomes.values());
  const failed = results.filter((result) => !result.passed);
  for (const { gate, output } of failed) {
    if (output) console.log(`\n--- ${gate.name}\n${output.trimEnd()}`);
  }
  const verdict = failed.length === 0 ? "all passed" : `failed: ${failed.map(({ gate }) => gate.name).join(", ")}`;
  console.log(`\n${verdict} (${secondsSince(startedAt)})`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  rmSync(packed, { recursive: true, force: true });
}

/** Each gate runs once, however many others need it. */
function outcomeOf(gate) {
  if (!outcomes.has(gate.name)) outcomes.set(gate.name, pass(gate));
  return outcomes.get(gate.name);
}

async function pass(gate) {
  if (gate.when && !gate.when()) return { gate, passed: true, output: "" };
  const needed = await Promise.all(gate.needs.map((name) => outcomeOf(byName.get(name))));
  const blocker = needed.find((result) => !result.passed);
  if (blocker) return report({ gate, passed: false, output: "" }, `not run, because ${blocker.gate.name} failed`);
  await takeSlot();
  const began = performance.now();
  const { code, output } = await run(gate.command());
  giveSlotBack();
  return report({ gate, passed: code === 0, output }, secondsSince(began));
}

function secondsSince(began) {
  return `${((performance.now() - began) / 1000).toFixed(1)}s`;
}

function report(result, remark) {
  console.log(`${result.passed ? "ok  " : "FAIL"} ${result.gate.name.padEnd(15)} ${remark}`);
  return result;
}

function run([program, ...args]) {
  return new Promise((resolve) => {
    const chunks = [];
    const child = spawn(program, args, {
      cwd: root,
      env: plainEnvironment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stderr.on("data", (chunk) => chunks.push(chunk));
    child.on("error", (error) => resolve({ code: 1, output: `${program}: ${error.message}` }));
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}

async function takeSlot() {
  if (free.slots > 0) free.slots -= 1;
  else {
    await new Promise((resolve) => {
      free.waiting.push(resolve);
    });
  }
}

function giveSlotBack() {
  const next = free.waiting.shift();
  if (next) next();
  else free.slots += 1;
}
