import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemClock } from "../../src/election/clock.js";
import { checkFileInbound } from "../../src/engine/transports/file/file-inbound-settings.js";
import { createFileSource } from "../../src/engine/transports/file/file-source.js";
import type { FileReading, FolderEntry, Shelf } from "../../src/engine/transports/file/folder.js";
import { FolderSource } from "../../src/engine/transports/file/folder-source.js";
import { LocalFolder } from "../../src/engine/transports/file/local-folder.js";
import { makeTestDirectory } from "../support/postgres.js";
import { eventually, heldCommit, Intake, sound } from "../support/transport-scene.js";

let folder = "";
const started: FolderSource[] = [];

beforeEach(async () => {
  folder = await makeTestDirectory();
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.stop()));
  await rm(folder, { recursive: true, force: true });
});

function settingsOf(given: object = {}) {
  const options = { kind: "file", folder, every: "10ms", settledPolls: 0, ...given };
  return sound(checkFileInbound(options, "feed"));
}

async function poll(given: object = {}, intake = new Intake()) {
  const source = createFileSource(intake.parts(settingsOf(given)));
  started.push(source);
  await source.start();
  return { intake, source };
}

async function pollFolder(local: LocalFolder, intake = new Intake(), given: object = {}) {
  const source = new FolderSource(intake.parts(settingsOf(given)), local);
  started.push(source);
  await source.start();
  return { intake, source };
}

/** Appears whole, as by a sender that knows how. */
async function put(name: string, text: string, at: Date | null = null): Promise<void> {
  const hidden = join(folder, `.${name}`);
  await writeFile(hidden, text);
  if (at !== null) await utimes(hidden, at, at);
  await rename(hidden, join(folder, name));
}

const filesIn = async (inner = ""): Promise<readonly string[]> =>
  (await readdir(join(folder, inner), { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .sort();

it("takes files in by name, one after the other, and archives them", async () => {
  await put("b.hl7", "second");
  await put("a.hl7", "first");
  await put("c.txt", "other");
  const { intake, source } = await poll({ pattern: "*.hl7", settledPolls: 2 });
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a.hl7", "b.hl7"]));
  expect(intake.bodies).toEqual(["first", "second"]);
  expect(intake.kept[0]?.arrival).toMatchObject({ peer: join(folder, "a.hl7"), headers: { file_name: "a.hl7" } });
  expect(await filesIn()).toEqual(["c.txt"]);
  expect(await readFile(join(folder, "archive/a.hl7"), "utf8")).toBe("first");
  expect(source.state).toMatchObject({ kind: "polling", reason: null });
});

it("is stopped also while a folder that hangs is being opened", async () => {
  class HangingFolder extends LocalFolder {
    override async open(): Promise<void> {
      await new Promise(() => undefined);
    }
  }
  const intake = new Intake();
  const source = new FolderSource(intake.parts(settingsOf()), new HangingFolder(settingsOf(), systemClock, "feed"));
  for (let turn = 0; turn < 2; turn += 1) {
    const starting = source.start();
    await source.stop();
    await starting;
  }
  expect(source.state.kind).toBe("stopped");
});

it("leaves a file alone that is not what the listing said", async () => {
  await writeFile(join(folder, "a"), "half");
  const local = new LocalFolder(settingsOf(), systemClock, "feed");
  const [listed] = await local.list();
  expect(await local.read(listed!, 100)).toEqual({ kind: "read", body: Buffer.from("half") });
  await writeFile(join(folder, "a"), "half and more");
  expect(await local.read(listed!, 100)).toEqual({ kind: "changing" });
  const [grown] = await local.list();
  expect(await local.read(grown!, 12)).toEqual({ kind: "too large" });
  await rm(join(folder, "a"));
  expect(await local.read(grown!, 100)).toEqual({ kind: "gone" });
});

it("does not take a file twice that was committed and could not be moved", async () => {
  await put("a", "once");
  let isStuck = true;
  class StuckFolder extends LocalFolder {
    override async move(name: string, to: Shelf, digest: string | null): Promise<string | null> {
      if (isStuck) throw new Error("the disk is full");
      return await super.move(name, to, digest);
    }
  }
  const { intake, source } = await pollFolder(new StuckFolder(settingsOf(), systemClock, "feed"));
  await eventually(() => expect(source.state.reason).toBe("a was taken in and cannot be moved (the disk is full)"));
  // The next leader finds the file, as after a crash between the commit and the move.
  await source.stop();
  const next = await pollFolder(new StuckFolder(settingsOf(), systemClock, "feed"), intake);
  await eventually(() => expect(next.source.state.reason).toContain("cannot be moved"));
  isStuck = false;
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a"]));
  expect(intake.bodies).toEqual(["once"]);
  // Each source asked once: a file that only has to be moved is not read again.
  expect(intake.receipts.map((receipt) => receipt.kind === "accepted" && receipt.duplicate)).toEqual([false, true]);
  await eventually(() => expect(next.source.state.reason).toBeNull());
});

it("takes a file that comes again under its name as another message", async () => {
  const { intake } = await poll();
  await put("a", "one");
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a"]));
  await put("a", "two");
  await eventually(async () => expect(await filesIn("archive")).toHaveLength(2));
  expect(intake.bodies).toEqual(["one", "two"]);
  const [kept, second] = await filesIn("archive");
  expect(kept).toBe("a");
  expect(second).toMatch(/^a\.\d{8}T\d{6}\.\d{3}Z$/);
  expect(await readFile(join(folder, "archive/a"), "utf8")).toBe("one");
});

it.each(["archive", "delete"])(
  "takes a file, too, that comes under the name of one that is being taken in (%s)",
  async (after) => {
    const intake = new Intake();
    const commit = heldCommit(intake);
    const at = new Date();
    await put("a", "one", at);
    await poll({ after }, intake);
    await commit.begun;
    // Its sender always writes to the same name, and has the next one: as long, and of the same tick of the clock.
    await put("a", "two", at);
    commit.release();
    await eventually(() => expect(intake.bodies).toEqual(["one", "two"]));
    await eventually(async () => expect(await filesIn()).toEqual([]));
  },
);

it.each([
  ["archive", "the next"],
  ["delete", "the next"],
  ["archive", "two"],
  ["delete", "two"],
])("takes a file, too, that comes between the last look at that name and the move (%s, %s)", async (after, second) => {
  let next: string | null = second;
  class PausedFolder extends LocalFolder {
    override async move(name: string, to: Shelf, digest: string | null): Promise<string | null> {
      if (next !== null) await put("a", next);
      next = null;
      return await super.move(name, to, digest);
    }
  }
  await put("a", "one");
  const local = new PausedFolder(settingsOf({ after }), systemClock, "feed");
  const { intake } = await pollFolder(local, new Intake(), { after });
  await eventually(() => expect(intake.bodies).toEqual(["one", second]));
  await eventually(async () => expect(await filesIn()).toEqual([]));
  expect(await filesIn("errors")).toEqual([]);
  // The first one was gone when the move came: its sender had replaced it.
  if (after === "archive") expect(await readFile(join(folder, "archive/a"), "utf8")).toBe(second);
});

it.each(["archive", "delete"])(
  "takes a file once where the folder copies instead of renaming, so that its time changes (%s)",
  async (after) => {
    class CopyingFolder extends LocalFolder {
      override async move(name: string, to: Shelf, digest: string | null): Promise<string | null> {
        const moved = await super.move(name, to, digest);
        if (moved !== null) await utimes(join(folder, to === "aside" ? "" : to, moved), new Date(), new Date(0));
        return moved;
      }
    }
    await put("a", "one");
    await put("b", "two");
    const local = new CopyingFolder(settingsOf({ after }), systemClock, "feed");
    const { intake } = await pollFolder(local, new Intake(), { after });
    await eventually(() => expect(intake.bodies).toEqual(["one", "two"]));
    await eventually(async () => expect(await filesIn()).toEqual([]));
    if (after === "archive") expect(await filesIn("archive")).toEqual(["a", "b"]);
  },
);

it("removes what a leader had put aside that ended before it did, and takes it where it was never read", async () => {
  const read = createHash("sha256").update("zero").digest("hex").slice(0, 16);
  await put(`.holdfast-${read}.aside.b`, "zero");
  await put(".holdfast-0123456789abcdef.aside.a", "one");
  const { intake } = await poll({ after: "delete" });
  await eventually(() => expect(intake.bodies).toEqual(["one"]));
  expect(intake.kept[0]?.arrival.headers).toMatchObject({ file_name: "a" });
  await eventually(async () => expect(await filesIn()).toEqual([]));
});

it("leaves the marker of the next file, which came while the file of that name was moved", async () => {
  let isFirst = true;
  class PausedFolder extends LocalFolder {
    override async move(name: string, to: Shelf, digest: string | null): Promise<string | null> {
      const moved = await super.move(name, to, digest);
      if (isFirst && name === "a") {
        isFirst = false;
        await put("a", "two");
        await put("a.done", "second");
      }
      return moved;
    }
  }
  await put("a", "one");
  await put("a.done", "first");
  const given = { marker: ".done" };
  const { intake } = await pollFolder(new PausedFolder(settingsOf(given), systemClock, "feed"), new Intake(), given);
  await eventually(() => expect(intake.bodies).toEqual(["one", "two"]));
  await eventually(async () => expect(await filesIn()).toEqual([]));
});

it("waits for the first byte of a file that is written where it is polled, however long its writer thinks", async () => {
  await writeFile(join(folder, "a"), "");
  const { intake, source } = await poll({ settledPolls: 1 });
  await eventually(() => expect(source.state.reason).toBe("a is empty: its writer may not have begun"));
  await put("b", "other");
  await eventually(async () => expect(await filesIn("archive")).toEqual(["b"]));
  await writeFile(join(folder, "a"), "late");
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a", "b"]));
  expect(intake.bodies).toEqual(["other", "late"]);
  expect(await filesIn("errors")).toEqual([]);
});

it("keeps the order while the store is away, and loses nothing", async () => {
  const intake = new Intake();
  let refusals = 0;
  intake.refuse = ({ body }) => {
    if (body.toString() !== "first" || refusals > 3) return null;
    refusals += 1;
    return { reason: "the store is away", retry: true };
  };
  await put("a", "first");
  await put("b", "second");
  const { source } = await poll({}, intake);
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a", "b"]));
  expect(intake.bodies).toEqual(["first", "second"]);
  expect(intake.states.map(({ reason }) => reason)).toContain("a was not taken in: the store is away");
  await eventually(() => expect(source.state.reason).toBeNull());
});

it("stops in the middle of a commit: moves nothing, takes nothing else, and the next one goes on", async () => {
  await put("a", "first");
  await put("b", "second");
  const intake = new Intake();
  const commit = heldCommit(intake);
  const { source } = await poll({}, intake);
  await commit.begun;
  const stopped = source.stop();
  expect(source.state.kind).toBe("stopped");
  commit.release();
  await stopped;
  expect(intake.bodies).toEqual(["first"]);
  expect(await filesIn()).toEqual(["a", "b"]);
  await poll({}, intake);
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a", "b"]));
  expect(intake.bodies).toEqual(["first", "second"]);
});

it("puts what cannot be taken in with the errors, and goes on", async () => {
  const intake = new Intake();
  intake.refuse = ({ body }) => (body.toString() === "bad" ? { reason: "no such thing", retry: false } : null);
  await put("a-empty", "");
  await put("b-large", "x".repeat(101));
  await put("c-refused", "bad");
  await put("d-good", "good");
  await poll({ maxFileBytes: 100, errors: "bad" }, intake);
  await eventually(async () => expect(await filesIn("archive")).toEqual(["d-good"]));
  expect(await filesIn("bad")).toEqual(["a-empty", "b-large", "c-refused"]);
  expect(intake.bodies).toEqual(["good"]);
  expect(intake.warnings).toHaveLength(3);
});

it("follows no link, waits for no pipe, enters no folder, and says so once", async () => {
  const outside = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  try {
    await writeFile(join(outside, "secret"), "secret");
    await symlink(join(outside, "secret"), join(folder, "a-link"));
    execFileSync("mkfifo", [join(folder, "b-pipe")]);
    await mkdir(join(folder, "c-folder"));
    await put("d-file", "plain");
    const { intake } = await poll();
    await eventually(async () => expect(await filesIn("archive")).toEqual(["d-file"]));
    await put("e-file", "later");
    await eventually(async () => expect(await filesIn("archive")).toEqual(["d-file", "e-file"]));
    expect(intake.bodies).toEqual(["plain", "later"]);
    expect(intake.warnings).toHaveLength(2);
    expect(await filesIn()).toEqual(["a-link", "b-pipe"]);
    // Also where it became a link after the listing.
    const local = new LocalFolder(settingsOf(), systemClock, "feed");
    const listed: FolderEntry = { name: "a-link", kind: "file", bytes: 6, modified: 0n };
    expect(await local.read(listed, 100)).toEqual({ kind: "unreadable", reason: "ELOOP" });
  } finally {
    await rm(outside, { recursive: true });
  }
});

it("tells of a file that it may not read, and takes the others and, when it may, that one", async () => {
  let isForbidden = true;
  class ShyFolder extends LocalFolder {
    override async read(entry: FolderEntry, most: number): Promise<FileReading> {
      if (isForbidden && entry.name === "a") return { kind: "unreadable", reason: "EACCES" };
      return await super.read(entry, most);
    }
  }
  await put("a", "first");
  await put("b", "second");
  const { intake, source } = await pollFolder(new ShyFolder(settingsOf(), systemClock, "feed"));
  await eventually(async () => expect(await filesIn("archive")).toEqual(["b"]));
  await eventually(() => expect(source.state.reason).toBe("a cannot be read (EACCES)"));
  isForbidden = false;
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a", "b"]));
  expect(intake.bodies).toEqual(["second", "first"]);
  expect(intake.warnings).toEqual(["a cannot be read (EACCES)"]);
});

const batch = ["FHS|^~\\&", "BHS|^~\\&", "MSH|^~\\&|1", "PID|1", "MSH|^~\\&|2", "MSH|^~\\&|3", "BTS|3", "FTS|1", ""];

it("makes a message of each in a batch, and of each only one when it is taken twice", async () => {
  const intake = new Intake();
  let isAway = true;
  intake.refuse = ({ body }) => (isAway && body.toString().includes("|2") ? { reason: "away", retry: true } : null);
  await put("batch.hl7", batch.join("\r"));
  const { source } = await poll({ split: "hl7" }, intake);
  await eventually(() => expect(source.state.reason).toBe("batch.hl7 was not taken in: away"));
  isAway = false;
  await eventually(async () => expect(await filesIn("archive")).toEqual(["batch.hl7"]));
  expect(intake.bodies).toEqual(["MSH|^~\\&|1\rPID|1\r", "MSH|^~\\&|2\r", "MSH|^~\\&|3\r"]);
  expect(new Set(intake.kept.map(({ arrival }) => arrival.key)).size).toBe(3);
});

it("takes a file when its marker is there, and removes both where it is told to", async () => {
  const { intake } = await poll({ marker: ".done", after: "delete" });
  await put("a", "first");
  await put("b", "second");
  await put("b.done", "");
  await eventually(async () => expect(await filesIn()).toEqual(["a"]));
  expect(intake.bodies).toEqual(["second"]);
  await put("a.done", "");
  await eventually(async () => expect(await filesIn()).toEqual([]));
  expect(intake.bodies).toEqual(["second", "first"]);
});

it("says that its folder is away, and goes on when it is back", async () => {
  const { intake, source } = await poll();
  const elsewhere = `${folder}-away`;
  await rename(folder, elsewhere);
  await eventually(() => expect(source.state.reason).toContain("ENOENT"));
  expect(source.state.kind).toBe("polling");
  await rename(elsewhere, folder);
  await put("a", "back");
  await eventually(async () => expect(await filesIn("archive")).toEqual(["a"]));
  expect(intake.bodies).toEqual(["back"]);
});

it("does not start without its folder", async () => {
  const source = createFileSource(new Intake().parts(settingsOf({ folder: join(folder, "nowhere") })));
  await expect(source.start()).rejects.toMatchObject({ code: "BAD_SETTINGS", message: /nowhere.*make it/ });
  expect(source.state.kind).toBe("failed");
});

const memory = "/dev/shm";
const isElsewhere = statSync(memory, { throwIfNoEntry: false })?.dev !== statSync(tmpdir()).dev;

it.runIf(isElsewhere)("does not start with an archive on another file system", async () => {
  const archive = await mkdtemp(join(memory, "holdfast-test-"));
  try {
    const source = createFileSource(new Intake().parts(settingsOf({ archive })));
    await expect(source.start()).rejects.toMatchObject({ code: "BAD_SETTINGS", message: /another file system/ });
    expect(await readdir(folder)).toEqual([]);
    expect(await readdir(archive)).toEqual([]);
  } finally {
    await rm(archive, { recursive: true });
  }
});

it("tells all that is wrong with its settings at once", () => {
  const given = {
    kind: "file",
    folder: "in",
    archve: "x",
    pattern: "a/b",
    every: "1x",
    after: "delete",
    archive: "old",
  };
  expect(checkFileInbound(given, "inbound.feed")).toEqual([
    'inbound.feed has no field "archve": did you mean "archive"?',
    "inbound.feed.folder must be an absolute path, which is the same on every node.",
    'inbound.feed.every must be a duration like "500ms", "5s" or "1m", from 10 ms to 7 days.',
    'inbound.feed.pattern must be a pattern of file names like "*.hl7", without "/".',
    'inbound.feed deletes what it took, so leave "archive" out.',
  ]);
  expect(checkFileInbound({ kind: "file", folder: "/in", archive: ".", errors: "/in/" }, "in")).toEqual([
    "in.archive must be another folder than the one that is polled.",
    "in.errors must be another folder than the one that is polled.",
  ]);
});
