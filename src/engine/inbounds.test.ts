import { pino } from "pino";
import { expect, it } from "vitest";
import { type Clock, systemClock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { defineInbound, type InboundDefinition } from "./definition.js";
import { Inbounds } from "./inbounds.js";
import type { Source, SourceState } from "./transports/transport.js";

/** Whoever rests wakes at once. */
const quickly: Clock = { ...systemClock, wakeAt: (_at, wake) => systemClock.wakeAt(systemClock.mono() + 5, wake) };

/** Sources that a test starts by hand, and what was done to them. */
function scene(clock: Clock = systemClock) {
  const done: string[] = [];
  const fails = new Set<string>();
  const broken = new Set<string>();
  const gates = new Map<string, Promise<void>>();
  const open = ({ name, transport }: InboundDefinition): Source => {
    if (broken.has(name)) throw new HoldfastError("BAD_SETTINGS", `the certificate of ${name} is gone`);
    const title = `${name}:${"port" in transport ? transport.port : ""}`;
    let kind: SourceState["kind"] = "stopped";
    return {
      get state(): SourceState {
        return { kind, reason: null, connections: 0, since: 0 };
      },
      async start() {
        kind = "starting";
        await gates.get(name);
        if (fails.has(name)) {
          kind = "failed";
          throw new HoldfastError("ADDRESS_IN_USE", "taken");
        }
        kind = "listening";
        done.push(`start ${title}`);
      },
      async stop() {
        kind = "stopped";
        await Promise.resolve(done.push(`stop ${title}`));
      },
    };
  };
  const log = pino({ level: "silent" });
  return { done, fails, broken, gates, inbounds: new Inbounds({ clock, log, open }) };
}

const inbound = (name: string, port: number, router = "adt"): InboundDefinition =>
  defineInbound({ name, router, transport: { kind: "mllp", port } });

it("what says the same goes on, what has changed is begun anew, and what is gone stops", async () => {
  const { inbounds, done } = scene();
  await inbounds.run([inbound("a", 1), inbound("b", 2), inbound("c", 3)]);
  expect(done.splice(0)).toEqual(["start a:1", "start b:2", "start c:3"]);
  await inbounds.run([inbound("a", 1), inbound("b", 20)]);
  expect(done).toEqual(["stop b:2", "stop c:3", "start b:20"]);
  expect(inbounds.stateOf("c")).toBeNull();
});

it("one that cannot start holds nobody up, and its stop ends the tries", async () => {
  const { inbounds, done, fails } = scene();
  fails.add("a");
  await inbounds.run([inbound("a", 1), inbound("b", 2)]);
  expect(done).toEqual(["start b:2"]);
  expect(inbounds.stateOf("a")).toMatchObject({ kind: "failed" });
  await inbounds.stopAll();
  expect(inbounds.stateOf("a")).toBeNull();
});

it("one whose settings are sound no more, like a certificate that is gone, fails alone, and runs when they are again", async () => {
  const { inbounds, done, broken } = scene(quickly);
  broken.add("a");
  await inbounds.run([inbound("a", 1), inbound("b", 2)]);
  expect(done).toEqual(["start b:2"]);
  expect(inbounds.stateOf("a")).toMatchObject({ kind: "failed", reason: "the certificate of a is gone" });
  broken.clear();
  await expect.poll(() => inbounds.stateOf("a")?.kind).toBe("listening");
  await inbounds.stopAll();
  expect(done).toContain("stop a:1");
});

it("all are stopped at once, also one that is still starting", async () => {
  const { inbounds, done, gates } = scene();
  let open = (): void => undefined;
  gates.set(
    "b",
    new Promise((resolve) => {
      open = resolve;
    }),
  );
  const running = inbounds.run([inbound("a", 1), inbound("b", 2)]);
  await expect.poll(() => done).toEqual(["start a:1"]);
  const stopping = inbounds.stopAll();
  expect(done).toEqual(["start a:1", "stop a:1", "stop b:2"]);
  open();
  await Promise.all([running, stopping]);
});
