import { EventEmitter } from "node:events";
import type { ClientRequest } from "node:http";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { neverAborted, openGuard } from "../../../../test/integration/mllp-scene.js";
import { systemClock } from "../../../election/clock.js";
import { exchange } from "./http-exchange.js";

/** A request over a connection that was kept, on which an answer lies already. */
class AnsweredBefore extends EventEmitter {
  readonly reusedSocket = true;
  destroyed = false;
  written: Buffer | null = null;

  end(body: Buffer): void {
    this.written = body;
  }

  destroy(): void {
    this.destroyed = true;
  }
}

it("believes no answer that came before its request was written, and does not write it then", async () => {
  const request = new AnsweredBefore();
  const limits = { connectTimeoutMs: 60_000, replyTimeoutMs: 60_000, maxReplyBytes: 1_000 };
  const body = Buffer.from("{}");
  const asked = exchange(request as unknown as ClientRequest, body, openGuard, neverAborted, systemClock, limits);
  request.emit("socket", new PassThrough());
  request.emit("response", Object.assign(new PassThrough(), { statusCode: 200, headers: {} }));
  expect(await asked).toEqual({ kind: "unreached", reason: "it answered before it was asked", isStale: true });
  await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
  expect(request).toMatchObject({ destroyed: true, written: null });
});
