import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { type WorkerHandlerOptions, workerHandler } from "./worker-handler.js";

// What happens in the threads is in test/integration/queue-handlers.test.ts.

const refusal = (module: unknown, options: WorkerHandlerOptions = {}): HoldfastError => {
  try {
    workerHandler(module as string, options);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
  }
  throw new Error("it was not refused");
};

describe("a handler for threads", () => {
  it.each([
    ["a URL", new URL(import.meta.url)],
    ["a URL as text", import.meta.url],
    ["an absolute path", fileURLToPath(import.meta.url)],
  ])("is made of a module given as %s", (_name, module) => {
    expect(workerHandler(module).timeoutMs).toBeNull();
  });

  it.each([
    ["a relative path", "./handler.js", '"./handler.js" is neither a URL nor an absolute path'],
    ["the name of a package", "handler", 'give new URL("./x.js", import.meta.url)'],
    ["nothing", undefined, '"undefined" is neither a URL nor an absolute path'],
    ["a file that is not there", new URL("gone.js", import.meta.url), "there is no file"],
  ])("is refused with %s", (_name, module, reason) => {
    expect(refusal(module)).toMatchObject({ code: "BAD_SETTINGS", message: expect.stringContaining(reason) });
  });

  it.each([
    [{ timeoutMs: 0 }, "timeoutMs must be a whole number from 1 to 86400000, not 0."],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs must be a whole number from 1 to 86400000, not Infinity."],
    [{ graceMs: -1 }, "graceMs must be a whole number from 0 to 86400000, not -1."],
    [{ memoryMb: 4 }, "memoryMb must be a whole number from 16 to 65536, not 4."],
    [{ threads: 1.5 }, "threads must be a whole number from 1 to 256, not 1.5."],
    [{ startTimeoutMs: Number.NaN }, "startTimeoutMs must be a whole number from 1 to 86400000, not NaN."],
  ])("is refused with %j", (options, reason) => {
    expect(refusal(import.meta.url, options).message).toContain(reason);
  });
});
