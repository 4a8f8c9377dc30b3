import { describe, expect, it } from "vitest";
import { createTestDatabase } from "../../support/postgres.js";
import type { Violation } from "../checker.js";
import { checkers, judge } from "../judgement.js";
import { SmallRun } from "../small-run.js";
import { makeSabotagedBuild } from "./sabotaged-build.js";
import { batch, type Sabotage, sabotages, trueBuild } from "./sabotages.js";

/** A checker that finds nothing proves nothing: with one promise broken in the build, it has to find that. */
const longestGapMs = 8_000;
const settleMs = 30_000;

/** Two runs at a time: they wait more than they compute, and more of them would not keep up their leases. */
const turns: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

async function inTurn<Result>(index: number, work: () => Promise<Result>): Promise<Result> {
  const turn = index % turns.length;
  const done = (turns[turn] ?? Promise.resolve()).then(work);
  turns[turn] = done.catch(() => undefined);
  return await done;
}

/** What each checker found. */
async function foundBy({
  replacements,
  workload,
  play,
}: Pick<Sabotage, "replacements" | "workload" | "play">): Promise<ReadonlyMap<string, readonly Violation[]>> {
  await using build = await makeSabotagedBuild(replacements);
  await using database = await createTestDatabase({ template: "template0" });
  const { url } = database;
  const options = { url, dist: build.dist, size: 2, workloads: workload(), longestGapMs, batch, settleMs };
  await using run = await SmallRun.start(options);
  await play(run);
  return new Map(judge(await run.end()).map(({ checker, violations }) => [checker.name, violations]));
}

describe("a sabotaged build is caught", () => {
  it.concurrent.for(sabotages)("$name, by $caughtBy", { timeout: 600_000 }, async (sabotage, { expect }) => {
    const { caughtBy, saying } = sabotage;
    const found = await inTurn(sabotages.indexOf(sabotage), () => foundBy(sabotage));
    const texts = (found.get(caughtBy) ?? []).map(({ text }) => text);
    expect(texts.join("\n")).toContain(saying);
  });

  it.concurrent("by its sabotage alone: the true build is not", { timeout: 600_000 }, async ({ expect }) => {
    const found = await inTurn(sabotages.length, () => foundBy(trueBuild));
    expect([...found.values()].flat()).toEqual([]);
  });

  it("for each checker that there is", () => {
    const known = new Set(sabotages.map(({ caughtBy }) => caughtBy));
    expect(checkers.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
  });
});
