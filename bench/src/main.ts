import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { benches } from "./benches.js";
import { cleanUp, cleanUpWhenInterrupted, wasInterrupted } from "./cleanup.js";
import { runProgram } from "./programs.js";
import { type Result, tableOf } from "./result.js";

/** `npm run bench -- [name|all] [--json] [--rounds N] [--messages N]`. Exit code 1 when a target was missed, so that nobody overlooks it. */
const usage = `npm run bench -- [${[...Object.keys(benches), "all"].join("|")}] [--json] [--rounds N] [--messages N]`;

if (process.argv[2] === "--process") await runProgram(process.argv[3] ?? "", process.argv[4] ?? "");
else await main();

async function main(): Promise<void> {
  const order = readOrder();
  if (order === null) {
    console.error(usage);
    process.exitCode = 2;
    return;
  }
  cleanUpWhenInterrupted();
  const machine = describeMachine();
  const results: Result[] = [];
  for (const [name, bench] of Object.entries(benches)) {
    if (order.name !== "all" && order.name !== name) continue;
    const startedAt = performance.now();
    const progress = (text: string): void => console.error(`${name}: ${text}`);
    try {
      results.push(...(await bench({ rounds: order.rounds, messages: order.messages, progress })));
    } catch (error) {
      if (wasInterrupted()) return;
      throw error;
    } finally {
      await cleanUp();
    }
    progress(`done in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  }
  if (order.json) console.log(JSON.stringify({ bench: order.name, machine, results }));
  else console.log(`${machine}\n\n${tableOf(results)}`);
  process.exitCode = results.every(({ met }) => met) ? 0 : 1;
}

interface Order {
  readonly name: string;
  readonly json: boolean;
  readonly rounds: number | null;
  readonly messages: number | null;
}

function readOrder(): Order | null {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean", default: false },
        rounds: { type: "string" },
        messages: { type: "string" },
      },
    });
    const [name = "all", ...rest] = positionals;
    const [rounds, messages] = [countOf(values.rounds), countOf(values.messages)];
    const known = name === "all" || name in benches;
    if (!known || rest.length > 0 || rounds === undefined || messages === undefined) return null;
    return { name, json: values.json, rounds, messages };
  } catch (error) {
    console.error((error as Error).message);
    return null;
  }
}

/** Null where nothing was said; undefined where it is no count. */
function countOf(text: string | undefined): number | null | undefined {
  if (text === undefined) return null;
  const count = Number(text);
  return count >= 1 ? Math.ceil(count) : undefined;
}

/** The load says how quiet the machine was when the run began. */
function describeMachine(): string {
  const processors = cpus();
  return [
    `${processors.length} x ${processors[0]?.model.trim() ?? "unknown processor"}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `${platform()} ${release()} ${arch()}`,
    `Node ${process.versions.node}`,
    `load ${(loadavg()[0] ?? 0).toFixed(1)} at the start`,
  ].join(", ");
}
