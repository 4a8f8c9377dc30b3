import { expect, it } from "vitest";
import { startUpgradingServer } from "../../../test/support/upgrading-server.js";
import { HttpCaller } from "./http-caller.js";

const signal = new AbortController().signal;

it("takes for unreached who would speak another protocol, and who has no address", async () => {
  await using server = await startUpgradingServer();
  const caller = new HttpCaller(null);
  const unreached = async (url: string) => await caller.send({ url, body: {}, timeoutMs: 60_000, signal });
  expect(await unreached(server.url)).toEqual({ kind: "unreached", reason: "the connection ended without an answer" });
  expect(await unreached("http://a b/v1/poll")).toEqual({ kind: "unreached", reason: "Invalid URL" });
  caller.close();
});
