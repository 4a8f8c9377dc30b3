import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../src/election/clock.js";
import { createFileDestination } from "../../src/engine/transports/file/file-destination.js";
import { checkFileOutbound } from "../../src/engine/transports/file/file-outbound-settings.js";
import { FolderDestination } from "../../src/engine/transports/file/folder-destination.js";
import { LocalOutbox } from "../../src/engine/transports/file/local-outbox.js";
import { makeTestDirectory } from "../support/postgres.js";
import {
  createLatch,
  deliveryOf,
  destinationScene,
  guardShutAt,
  noAbort,
  openGuard,
  sound,
} from "../support/transport-scene.js";

let folder = "";

beforeEach(async () => {
  folder = await makeTestDirectory();
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function partsOf(given: object = {}) {
  return destinationScene(sound(checkFileOutbound({ kind: "file", folder, ...given }, "lab"))).parts;
}

const destinationTo = (given: object = {}) => createFileDestination(partsOf(given));
const outboxOf = () => new LocalOutbox(folder, systemClock, "lab");
const contentOf = async (name: string): Promise<string> => await readFile(join(folder, name), "utf8");
const delivered = { kind: "delivered", reply: null };

it("puts each message into a file of its own, and leaves nothing else behind", async () => {
  const destination = destinationTo({ fileName: "{type}-{id}.hl7" });
  expect(await destination.send(deliveryOf("MSH|1"), openGuard, noAbort)).toEqual(delivered);
  expect(await readdir(folder)).toEqual(["ADT_A01-42.hl7"]);
  expect(await contentOf("ADT_A01-42.hl7")).toBe("MSH|1");
  expect(destination.state.kind).toBe("connected");
  await destination.close();
  expect(destination.state.kind).toBe("closed");
});

it("asks the guard before the file and again before its name, and shows nothing where it throws", async () => {
  const destination = destinationTo();
  for (const nth of [1, 2]) {
    const guard = guardShutAt(nth);
    await expect(destination.send(deliveryOf("x"), guard, noAbort)).rejects.toThrow("leads no more");
    expect(guard.asked()).toBe(nth);
    expect(await readdir(folder)).toEqual([]);
  }
  expect(await destination.send(deliveryOf("x"), openGuard, noAbort)).toEqual(delivered);
});

it("knows its own file again after an attempt of unknown outcome, and replaces no other", async () => {
  const destination = destinationTo();
  await destination.send(deliveryOf("one"), openGuard, noAbort);
  expect(await destination.send(deliveryOf("one", { attempt: 2 }), openGuard, noAbort)).toEqual(delivered);
  expect(await readdir(folder)).toEqual(["42.msg"]);
  await destination.send(deliveryOf("two"), openGuard, noAbort);
  expect((await readdir(folder)).sort()).toEqual(["42-2.msg", "42.msg"]);
  expect([await contentOf("42.msg"), await contentOf("42-2.msg")]).toEqual(["one", "two"]);
});

it("replaces a file of the same name where it is told to, or where the name has the message's key", async () => {
  const latest = destinationTo({ fileName: "latest", overwrite: true });
  await latest.send(deliveryOf("one"), openGuard, noAbort);
  await latest.send(deliveryOf("two"), openGuard, noAbort);
  expect(await contentOf("latest")).toBe("two");
  const keyed = destinationTo({ fileName: "{key}" });
  await keyed.send(deliveryOf("one"), openGuard, noAbort);
  await keyed.send(deliveryOf("one", { attempt: 2 }), openGuard, noAbort);
  expect((await readdir(folder)).sort()).toEqual(["lab~2f7", "latest"]);
});

it("gives messages that are sent side by side names of their own", async () => {
  const destination = destinationTo({ fileName: "same" });
  const bodies = Array.from({ length: 20 }, (_, at) => `message ${at}`);
  await Promise.all(bodies.map((body) => destination.send(deliveryOf(body), openGuard, noAbort)));
  const names = await readdir(folder);
  expect(names).toHaveLength(20);
  expect((await Promise.all(names.map(contentOf))).sort()).toEqual(bodies.sort());
});

it("gives the messages of two lanes names of their own, each of which writes by itself", async () => {
  /** Who does not wait for its turn finds the name free as well. */
  class SlowOutbox extends LocalOutbox {
    override async compare(name: string, body: Buffer): Promise<"absent" | "same" | "other"> {
      const there = await super.compare(name, body);
      for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      return there;
    }
  }
  const lanes = [1, 2].map(() => new FolderDestination(partsOf(), new SlowOutbox(folder, systemClock, "lab")));
  const bodies = ["to the ward", "to the lab"];
  const ends = await Promise.all(lanes.map((lane, at) => lane.send(deliveryOf(bodies[at] ?? ""), openGuard, noAbort)));
  expect(ends).toEqual([delivered, delivered]);
  const names = (await readdir(folder)).sort();
  expect(names).toEqual(["42-2.msg", "42.msg"]);
  expect((await Promise.all(names.map(contentOf))).sort()).toEqual(bodies.sort());
});

it("shows nothing of a message that is called off while it is written, not even later", async () => {
  const written = createLatch();
  const goOn = createLatch();
  class SlowOutbox extends LocalOutbox {
    override async writeHidden(name: string, body: Buffer): Promise<void> {
      await super.writeHidden(name, body);
      written.open();
      await goOn.opened;
    }
  }
  const destination = new FolderDestination(partsOf(), new SlowOutbox(folder, systemClock, "lab"));
  const calledOff = new AbortController();
  const sending = destination.send(deliveryOf("half"), openGuard, calledOff.signal);
  await written.opened;
  expect((await readdir(folder)).filter((name) => !name.startsWith("."))).toEqual([]);
  calledOff.abort();
  expect(await sending).toEqual({ kind: "unreached", reason: "it was called off" });
  goOn.open();
  // A second delivery is named after the first has come to its end.
  expect(await destination.send(deliveryOf("next"), openGuard, noAbort)).toEqual(delivered);
  expect(await readdir(folder)).toEqual(["42.msg"]);
  expect(await contentOf("42.msg")).toBe("next");
});

it("says unreached where nothing was shown, and unconfirmed where it may not last", async () => {
  class FullOutbox extends LocalOutbox {
    override async writeHidden(name: string, body: Buffer): Promise<void> {
      await super.writeHidden(name, body.subarray(0, 1));
      throw new Error("ENOSPC: no space left on device");
    }
  }
  const full = new FolderDestination(partsOf(), new FullOutbox(folder, systemClock, "lab"));
  const outcome = await full.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "unreached", reason: "ENOSPC: no space left on device" });
  expect(await readdir(folder)).toEqual([]);
  class ForgetfulOutbox extends LocalOutbox {
    override async settle(): Promise<void> {
      throw new Error("EIO");
    }
  }
  const forgetful = new FolderDestination(partsOf(), new ForgetfulOutbox(folder, systemClock, "lab"));
  expect(await forgetful.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unconfirmed" });
  expect(await readdir(folder)).toEqual(["42.msg"]);
});

it("tries again when its folder is there", async () => {
  const inner = join(folder, "inner");
  const destination = destinationTo({ folder: inner });
  const missing = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(missing).toMatchObject({ kind: "unreached", reason: expect.stringContaining("make it") });
  await mkdir(inner);
  expect(await destination.send(deliveryOf("x"), openGuard, noAbort)).toEqual(delivered);
});

it("sweeps what a leader left behind that ended while it wrote, and nothing younger", async () => {
  const [old, young] = [".holdfast-0123456789abcdef.tmp", ".holdfast-fedcba9876543210.tmp"];
  for (const name of [old, young]) await writeFile(join(folder, name), "half");
  const hoursAgo = new Date(Date.now() - 7_200_000);
  await utimes(join(folder, old), hoursAgo, hoursAgo);
  await outboxOf().open();
  expect(await readdir(folder)).toEqual([young]);
});

it("tells all that is wrong with its settings, and appends to nothing", () => {
  const given = { kind: "file", folder: "out", fileName: "{name}", append: true };
  expect(checkFileOutbound(given, "outbound.lab")).toEqual([
    "outbound.lab cannot append: each message is a file of its own, so that nobody reads half of one.",
    "outbound.lab.fileName must be made of {id}, {key}, {type}, {controlId}, {connection}, {outbound}, {time}, and not {name}.",
    "outbound.lab.folder must be an absolute path, which is the same on every node.",
  ]);
});
