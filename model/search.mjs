/**
 * One exhaustive search: spin makes a verifier of the model, gcc compiles it, and it runs to the end or to the first
 * counterexample. A search that did not get to the end has shown nothing, and is never called "holds".
 */
import { spawn } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { basename, join } from "node:path";

const depth = 200_000;
const memoryMb = 4_000;

/** A program that the search needs and the machine does not have. */
export class MissingProgram extends Error {
  constructor(program) {
    super(`${program} is missing. The models need spin and a C compiler: apt-get install spin gcc`);
  }
}

/**
 * @param {import("./row.mjs").Row} row
 * @param {string} models The folder of the row's model.
 * @param {string} place An empty folder to work in.
 * @returns {Promise<{ outcome: "holds" | "fails" | "incomplete", states: number, why: string }>}
 */
export async function search(row, models, place) {
  const model = basename(row.model);
  await copyFile(join(models, row.model), join(place, model));
  const made = await run("spin", [...switches(row), "-a", model], place);
  if (made.code !== 0 || /Error:/.test(made.output)) throw new Error(`spin refuses ${row.id}:\n${made.output}`);
  const compiled = await run("gcc", [...compileFlags(row), "-o", "pan", "pan.c"], place);
  if (compiled.code !== 0) throw new Error(`gcc refuses ${row.id}:\n${compiled.output}`);
  const searched = await run("./pan", [...(row.liveness ? ["-a", "-f"] : []), `-m${depth}`, "-w20"], place);
  return outcomeOf(searched);
}

/** The steps to the counterexample of a search that failed, as the model tells them. */
export async function trail(row, place) {
  const { output } = await run("spin", [...switches(row), "-t", "-T", basename(row.model)], place);
  const [steps = ""] = output.split(/^spin: /m);
  return steps
    .split("\n")
    .map((step) => step.trim().replace(/^<+START OF CYCLE>+$/, "(and from here on again and again)"))
    .filter((step) => step !== "" && !/^(ltl |MSC: |Never claim|starting claim)/.test(step));
}

function outcomeOf({ code, signal, output }) {
  const states = Number(/(\d+) states, stored/.exec(output)?.[1] ?? 0);
  const errors = /errors: (\d+)/.exec(output)?.[1];
  const found = /^pan:\d+: (assertion violated|acceptance cycle)/m.exec(output)?.[1];
  if (errors !== "0" && found) return { outcome: "fails", states, why: found };
  const cutShort = /max search depth too small|out of memory|reached -DMEMLIM|Search not completed/i.exec(output)?.[0];
  if (cutShort || errors !== "0" || code !== 0 || states === 0) {
    const stopped = /^pan:\d+: .*$/m.exec(output)?.[0] ?? `the verifier ended with ${signal ?? code}`;
    return { outcome: "incomplete", states, why: cutShort ?? stopped };
  }
  return { outcome: "holds", states, why: "" };
}

function switches({ property, defines }) {
  return [`CHECK_${property}`, ...defines].map((define) => `-D${define}`);
}

/**
 * Most of the time goes into compiling, so what stops early is not worth optimising. Where a counterexample is expected,
 * breadth first finds the shortest, which is the one worth reading.
 */
function compileFlags({ liveness, expect }) {
  const flags = ["-w", `-DMEMLIM=${memoryMb}`, expect === "fails" ? "-O0" : "-O1"];
  if (liveness) return [...flags, "-DNFAIR=3"];
  return [...flags, "-DSAFETY", ...(expect === "fails" ? ["-DBFS"] : [])];
}

const running = new Set();

/** Ends what still runs, so that an interrupted run leaves nothing behind. */
export function stopSearches() {
  for (const child of running) child.kill("SIGKILL");
}

function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    let output = "";
    const collect = (chunk) => {
      output += chunk;
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => {
      running.delete(child);
      const isMissing = "code" in error && error.code === "ENOENT";
      reject(isMissing ? new MissingProgram(program) : new Error(`${program} did not start`, { cause: error }));
    });
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve({ code, signal, output });
    });
  });
}
