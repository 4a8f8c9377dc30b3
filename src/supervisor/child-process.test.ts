import { EventEmitter } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import type { ChildPlan } from "./child-plan.js";
import { startChild } from "./child-process.js";

const starved = vi.hoisted(() => ({ error: null as Error | null }));

/** A process that is short of descriptors cannot be made without harm to the other tests in it. */
vi.mock("node:child_process", async (original) => {
  const real = await original<typeof import("node:child_process")>();
  const spawn = (...given: Parameters<typeof real.spawn>): unknown => {
    if (starved.error === null) return real.spawn(...given);
    const child = new EventEmitter();
    process.nextTick(() => child.emit("error", starved.error));
    return child;
  };
  return { ...real, spawn };
});

const here = fileURLToPath(import.meta.url);
const plan: ChildPlan = { child: "agent", words: ["--version"], env: {}, cwd: "/", graceMs: 1, silenceMs: 0 };

it("tells that a child could not be started whose folder is none, and whose descriptors are used up", async () => {
  const folderless = startChild({ ...plan, cwd: here });
  expect(await folderless.exited).toMatchObject({ code: null, error: { code: "ENOTDIR" } });
  starved.error = Object.assign(new Error("spawn EMFILE"), { code: "EMFILE" });
  const starving = startChild(plan);
  starving.send("SIGTERM");
  expect(await text(starving.stdout)).toBe("");
  expect(await starving.exited).toMatchObject({ code: null, error: starved.error });
});
