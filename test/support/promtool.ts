import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyOf, type Labels, labelsOf } from "../../src/alerts/core/labels.js";
import type { Round } from "../../src/alerts/core/samples.js";
import type { Vector } from "../../src/alerts/core/vector.js";

/** Rounds at multiples of the step, from 0 on, and what is asked about them. */
export interface Scene {
  readonly stepMs: number;
  readonly rounds: readonly Round[];
  readonly questions: readonly { readonly expression: string; readonly atMs: number }[];
}

export type PrometheusAnswer =
  | { readonly kind: "answered"; readonly samples: Vector }
  | { readonly kind: "failed"; readonly message: string };

/** Runs promtool over files of these names and texts; it may fail. */
export async function promtool(
  args: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-promtool-"));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return await run(args, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], cwd: string): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("promtool", args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", (error) => {
      reject(new Error("promtool cannot be run; on Debian: apt-get install prometheus", { cause: error }));
    });
    child.on("close", (code) => resolve({ code, output: Buffer.concat(chunks).toString() }));
  });
}

/**
 * What Prometheus answers to each question of each scene, in order. promtool only tells what differs from what was expected,
 * so every question expects something that no answer is.
 */
export async function askPrometheus(scenes: readonly Scene[]): Promise<readonly (readonly PrometheusAnswer[])[]> {
  const { output } = await promtool(["test", "rules", "scenes.yml"], { "scenes.yml": writeScenes(scenes) });
  const blocks = output.split(/^ {4}(?=expr: )/m).slice(1);
  const asked = scenes.flatMap(({ questions }) => questions).length;
  if (blocks.length !== asked)
    throw new Error(`promtool answered ${blocks.length} of ${asked}:\n${output.slice(0, 4_000)}`);
  const answers = blocks.map(readAnswer);
  let next = 0;
  return scenes.map(({ questions }) => {
    next += questions.length;
    return answers.slice(next - questions.length, next);
  });
}

function writeScenes(scenes: readonly Scene[]): string {
  // JSON is YAML.
  return JSON.stringify({
    // Values are only read in up to the last multiple of this.
    evaluation_interval: "5s",
    tests: scenes.map(({ stepMs, rounds, questions }) => ({
      interval: `${stepMs}ms`,
      input_series: seriesOf(rounds, stepMs),
      promql_expr_test: questions.map(({ expression, atMs }) => ({
        expr: expression,
        eval_time: `${atMs}ms`,
        exp_samples: [{ labels: '{expected="by nobody"}', value: 424_242 }],
      })),
    })),
  });
}

/** As promtool takes it: a value each step, `_` where nothing was read, and `stale` where a series went missing. */
export function seriesOf(
  rounds: readonly Round[],
  stepMs: number,
): readonly { readonly series: string; readonly values: string }[] {
  const steps = Math.max(0, ...rounds.map(({ at }) => at)) / stepMs;
  const byStep = new Map(rounds.map((round) => [round.at / stepMs, round]));
  return [...new Set(rounds.flatMap(({ series }) => [...series.keys()]))].map((series) => {
    let wasThere = false;
    const values = Array.from({ length: steps + 1 }, (_, step) => {
      const round = byStep.get(step);
      if (round === undefined) return "_";
      const value = round.series.get(series);
      const written = value === undefined ? (wasThere ? "stale" : "_") : shown(value);
      wasThere = value !== undefined;
      return written;
    });
    return { series, values: values.join(" ") };
  });
}

function shown(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Inf" : "-Inf";
}

function readAnswer(block: string): PrometheusAnswer {
  const got = /^ {8}got: (.*)$/ms.exec(block)?.[1]?.trim();
  if (got === undefined) return { kind: "failed", message: block.trim() };
  return { kind: "answered", samples: got === "nil" ? [] : readSamples(got) };
}

function readSamples(text: string): Vector {
  const samples = [...text.matchAll(/\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\} ([^,\s]+)/g)];
  return samples.map(([, inner = "", value = ""]) => ({ labels: readLabels(inner), value: readValue(value) }));
}

function readLabels(inner: string): Labels {
  const pairs = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return labelsOf(pairs.map(([, name = "", value = ""]) => [name, JSON.parse(`"${value}"`) as string]));
}

function readValue(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}

/** The same series with the same values, but for what the order of a sum does to the last digits. */
export function sameVectors(one: Vector, other: Vector): boolean {
  const values = new Map(other.map(({ labels, value }) => [keyOf(labels), value]));
  return (
    one.length === other.length &&
    one.every(({ labels, value }) => {
      const meant = values.get(keyOf(labels));
      return meant !== undefined && sameValue(value, meant);
    })
  );
}

function sameValue(one: number, other: number): boolean {
  if (Object.is(one, other) || one === other) return true;
  return Math.abs(one - other) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other));
}
