import { expect, it } from "vitest";
import { startUpgradingServer } from "../../test/support/upgrading-server.js";
import { limits } from "./limits.js";
import { callNode } from "./node-call.js";

it("does not wait for a leader that would speak another protocol", async () => {
  await using server = await startUpgradingServer();
  const call = { address: new URL(server.url), method: "POST", path: "/jobs", headers: {}, body: "{}" };
  const asked = callNode({ ...call, signal: new AbortController().signal }, limits);
  await expect(asked).rejects.toMatchObject({
    code: "UNKNOWN_OUTCOME",
    message: expect.stringContaining("the connection ended without an answer"),
  });
});
