import { describe, expect, it } from "vitest";
import { agentSettings } from "./agent-settings.js";

const good = { url: "http://127.0.0.1:7400/", name: "worker-1", operations: { resize: () => null } };

describe("an agent's settings", () => {
  it("have sensible defaults, and each address once", () => {
    const settings = agentSettings({
      ...good,
      url: ["http://a:1/", "http://a:1", "https://b/base/"],
      capabilities: ["x", "x"],
    });
    expect(settings).toMatchObject({
      seeds: ["http://a:1", "https://b/base"],
      token: null,
      namespace: "default",
      capabilities: ["x"],
      concurrency: 4,
    });
  });

  it.each([
    [{ url: [] }, "It needs the address of a node."],
    [{ url: "ftp://a" }, '"ftp://a" is no address like http://127.0.0.1:7400.'],
    [{ url: "http://me:secret@a" }, "The address of a node carries no credentials."],
    [{ name: "" }, "The name must be 1 to 200 letters"],
    [{ name: "a b" }, "The name must be 1 to 200 letters"],
    [{ namespace: "-" }, "The namespace must be 1 to 200 letters"],
    [{ capabilities: ["ok", "not ok"] }, "A capability must be 1 to 200 letters"],
    [{ operations: {} }, "There is no operation that it could run."],
    [{ operations: { "a b": () => null } }, "The name of an operation must be"],
    [{ operations: { a: "no" as never } }, 'Operation "a" is no function.'],
    [{ concurrency: 0 }, "concurrency must be a whole number from 1 to 1024, not 0."],
    [{ concurrency: 1.5 }, "concurrency must be a whole number"],
    [{ pollMs: 120_001 }, "pollMs must be a whole number from 0 to 120000, not 120001."],
  ])("refuse %j, and say what they take", (more, said) => {
    expect(() => agentSettings({ ...good, ...more })).toThrow(`The agent cannot be made: ${said}`);
  });
});
