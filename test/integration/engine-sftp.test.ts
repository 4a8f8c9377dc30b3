import { generateKeyPairSync } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../src/election/clock.js";
import type { FolderDestination } from "../../src/engine/transports/file/folder-destination.js";
import type { FolderSource } from "../../src/engine/transports/file/folder-source.js";
import { createSftpDestination } from "../../src/engine/transports/sftp/sftp-destination.js";
import { SftpLink } from "../../src/engine/transports/sftp/sftp-link.js";
import { checkSftpInbound, checkSftpOutbound } from "../../src/engine/transports/sftp/sftp-settings.js";
import { createSftpSource } from "../../src/engine/transports/sftp/sftp-source.js";
import { makeTestDirectory } from "../support/postgres.js";
import { type SftpServer, sftpUser, startSftpServer } from "../support/sftp-server.js";
import {
  deliveryOf,
  destinationScene,
  eventually,
  guardShutAt,
  heldCommit,
  Intake,
  noAbort,
  openGuard,
  sound,
} from "../support/transport-scene.js";

let root = "";
let server: SftpServer;
const started: FolderSource[] = [];
const opened: FolderDestination[] = [];

beforeEach(async () => {
  vi.stubEnv("LAB_PASSWORD", sftpUser.password);
  root = await makeTestDirectory();
  await mkdir(join(root, "box"));
  server = await startSftpServer(root);
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.stop()));
  await Promise.all(opened.splice(0).map((destination) => destination.close()));
  await server[Symbol.asyncDispose]();
  await rm(root, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

function placeOf() {
  const { port, hostKey } = server;
  const { username } = sftpUser;
  return { kind: "sftp", host: "127.0.0.1", port, username, passwordFrom: "LAB_PASSWORD", hostKey, folder: "/box" };
}

async function poll(given: object = {}, intake = new Intake()) {
  const options = { ...placeOf(), every: "10ms", settledPolls: 0, ...given };
  const source = createSftpSource(intake.parts(sound(checkSftpInbound(options, "feed"))));
  started.push(source);
  await source.start();
  return { intake, source };
}

function destinationTo(given: object = {}) {
  const { parts } = destinationScene(sound(checkSftpOutbound({ ...placeOf(), ...given }, "lab")));
  const destination = createSftpDestination(parts);
  opened.push(destination);
  return destination;
}

async function put(name: string, body: string | Buffer): Promise<void> {
  await writeFile(join(root, `box/.${name}`), body);
  await rename(join(root, `box/.${name}`), join(root, "box", name));
}

const filesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(join(root, folder), { withFileTypes: true }))
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name)
    .sort();

const delivered = { kind: "delivered", reply: null };

it("takes files in by name, whole, over one connection, and archives them", async () => {
  const large = Buffer.alloc(1_500_000, "0123456789");
  await put("b.hl7", large);
  await put("a.hl7", "first");
  await symlink("/etc/passwd", join(root, "box/c.hl7"));
  const { intake } = await poll({ pattern: "*.hl7", settledPolls: 1 });
  await eventually(async () => expect(await filesIn("box/archive")).toEqual(["a.hl7", "b.hl7"]));
  expect(intake.kept.map(({ arrival }) => arrival.body.equals(large) || arrival.body.toString())).toEqual([
    "first",
    true,
  ]);
  expect(await filesIn("box")).toEqual(["c.hl7"]);
  expect(intake.warnings).toEqual(["a file is not taken: it is a symbolic link, and those are not followed"]);
  expect(server.connections()).toBe(1);
});

it("does not take a file twice whose move was not answered", async () => {
  await put("a", "once");
  let isSilent = true;
  server.before = (request, path) => {
    if (!isSilent || request !== "RENAME" || path !== "/box/a") return undefined;
    server.cut();
    return Promise.resolve("ignore");
  };
  const { intake, source } = await poll();
  await eventually(() => expect(source.state.reason).toContain("a was taken in and cannot be moved"));
  await source.stop();
  isSilent = false;
  await poll({}, intake);
  await eventually(async () => expect(await filesIn("box/archive")).toEqual(["a"]));
  expect(intake.bodies).toEqual(["once"]);
  expect(intake.receipts.map((receipt) => receipt.kind === "accepted" && receipt.duplicate)).toEqual([false, true]);
});

it("stops in the middle of a commit, and the next one goes on", async () => {
  await put("a", "first");
  await put("b", "second");
  const intake = new Intake();
  const commit = heldCommit(intake);
  const { source } = await poll({}, intake);
  await commit.begun;
  const stopped = source.stop();
  commit.release();
  await stopped;
  expect([intake.bodies, await filesIn("box")]).toEqual([["first"], ["a", "b"]]);
  await source.start();
  await eventually(async () => expect(await filesIn("box/archive")).toEqual(["a", "b"]));
  expect(intake.bodies).toEqual(["first", "second"]);
});

it("connects again by itself, and says why it is away", async () => {
  const { intake, source } = await poll();
  await put("a", "first");
  await eventually(async () => expect(await filesIn("box/archive")).toEqual(["a"]));
  server.cut();
  await put("b", "second");
  await eventually(async () => expect(await filesIn("box/archive")).toEqual(["a", "b"]));
  expect(server.connections()).toBe(2);
  expect(intake.bodies).toEqual(["first", "second"]);
  await rename(join(root, "box"), join(root, "elsewhere"));
  await eventually(() => expect(source.state.reason).not.toBeNull());
  expect(source.state.kind).toBe("polling");
});

it("refuses a server with another key, before it says who it is, and names that key", async () => {
  const other = `SHA256:${"A".repeat(43)}`;
  const { source } = await poll({ hostKey: other });
  await eventually(() => expect(source.state.reason).toContain(`its key is ${server.hostKey}`));
  const either = await poll({ hostKey: [other, server.hostKey] });
  await put("a", "first");
  await eventually(() => expect(either.intake.bodies).toEqual(["first"]));
});

it("does not ask a server again at once that does not let it in", async () => {
  vi.stubEnv("LAB_PASSWORD", "wrong");
  const intake = new Intake();
  const settings = sound(checkSftpInbound({ ...placeOf(), every: "10ms" }, "feed"));
  let looks = 0;
  let now = performance.now();
  const wakeAt: Clock["wakeAt"] = (_mono, fire) => {
    looks += 1;
    return systemClock.wakeAt(0, fire);
  };
  const source = createSftpSource({ ...intake.parts(settings), clock: { ...systemClock, mono: () => now, wakeAt } });
  started.push(source);
  await source.start();
  await eventually(() => expect(source.state.reason).toContain("does not let us in"));
  const before = looks;
  await eventually(() => expect(looks).toBeGreaterThan(before + 20));
  expect(server.connections()).toBe(1);
  now += 1_000;
  await eventually(() => expect(server.connections()).toBe(2));
});

it("logs in with a private key, from a file or from the environment", async () => {
  const path = join(root, "key");
  await writeFile(path, server.privateKey, { mode: 0o600 });
  vi.stubEnv("LAB_KEY", server.privateKey);
  for (const way of [{ privateKey: path }, { privateKeyFrom: "LAB_KEY" }]) {
    const destination = destinationTo({ passwordFrom: undefined, ...way });
    expect(await destination.send(deliveryOf("x"), openGuard, noAbort)).toEqual(delivered);
  }
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" });
  vi.stubEnv("LAB_KEY", String(other));
  const stranger = destinationTo({ passwordFrom: undefined, privateKeyFrom: "LAB_KEY" });
  expect(await stranger.send(deliveryOf("y"), openGuard, noAbort)).toMatchObject({ kind: "unreached" });
});

it("does not start without its variable, its key or its package, and says which", async () => {
  await expect(poll({ passwordFrom: "LAB_PASSWORD_OF_NOBODY" })).rejects.toThrow("LAB_PASSWORD_OF_NOBODY");
  await expect(poll({ passwordFrom: undefined, privateKey: "/nowhere/key" })).rejects.toThrow("/nowhere/key");
  const settings = sound(checkSftpOutbound(placeOf(), "lab"));
  const link = new SftpLink(settings, systemClock, "Outbound", () => Promise.reject(new Error("not found")));
  await expect(link.check()).rejects.toMatchObject({ code: "BAD_SETTINGS", message: /npm install ssh2-sftp-client/ });
});

it("puts each message into a file of its own, over one connection", async () => {
  const destination = destinationTo({ fileName: "{id}.hl7" });
  const large = Buffer.alloc(1_500_000, "9876543210");
  expect(await destination.send(deliveryOf("one"), openGuard, noAbort)).toEqual(delivered);
  expect(await destination.send(deliveryOf("one", { attempt: 2 }), openGuard, noAbort)).toEqual(delivered);
  expect(await destination.send(deliveryOf(large), openGuard, noAbort)).toEqual(delivered);
  expect(await filesIn("box")).toEqual(["42-2.hl7", "42.hl7"]);
  expect((await readFile(join(root, "box/42-2.hl7"))).equals(large)).toBe(true);
  expect(server.connections()).toBe(1);
  const keyed = destinationTo({ fileName: "{key}" });
  await keyed.send(deliveryOf("one"), openGuard, noAbort);
  await keyed.send(deliveryOf("two"), openGuard, noAbort);
  expect(await readFile(join(root, "box/lab~2f7"), "utf8")).toBe("two");
});

it("sweeps what a leader left behind that ended while it wrote, and nothing younger", async () => {
  const [old, young] = [".holdfast-0123456789abcdef.tmp", ".holdfast-fedcba9876543210.tmp"];
  for (const name of [old, young]) await writeFile(join(root, "box", name), "half");
  const hoursAgo = new Date(Date.now() - 7_200_000);
  await utimes(join(root, "box", old), hoursAgo, hoursAgo);
  expect(await destinationTo().send(deliveryOf("x"), openGuard, noAbort)).toEqual(delivered);
  expect(await filesIn("box")).toEqual([young, "42.msg"]);
});

it("shows nothing where the guard throws", async () => {
  const destination = destinationTo();
  for (const nth of [1, 2]) {
    await expect(destination.send(deliveryOf("x"), guardShutAt(nth), noAbort)).rejects.toThrow("leads no more");
    expect(await filesIn("box")).toEqual([]);
  }
});

it("tells whether anything may be there when the connection is lost", async () => {
  const destination = destinationTo();
  let cutAt = "WRITE";
  server.before = (request) => {
    if (request !== cutAt) return undefined;
    server.cut();
    return Promise.resolve("ignore");
  };
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("unreached");
  expect((await filesIn("box")).filter((name) => !name.startsWith("."))).toEqual([]);
  cutAt = "RENAME";
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("unconfirmed");
  cutAt = "";
  expect(await destination.send(deliveryOf("x"), openGuard, noAbort)).toEqual(delivered);
  expect((await filesIn("box")).filter((name) => !name.startsWith("."))).toEqual(["42.msg"]);
});

it("does not wait for ever for a server that is silent", async () => {
  const destination = destinationTo({ replyTimeout: "2s" });
  server.before = (request) => (request === "RENAME" ? Promise.resolve("ignore") : undefined);
  const outcome = await destination.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toEqual({ kind: "unconfirmed", reason: "no answer within 2 s" });
  await server[Symbol.asyncDispose]();
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("unreached");
});

it("tells all that is wrong with its settings at once", () => {
  const given = { kind: "sftp", host: "lab", username: "me", folder: "/in", password: "x" };
  expect(checkSftpInbound(given, "inbound.feed")).toEqual([
    'inbound.feed has no field "password": did you mean "passwordFrom"?',
    "inbound.feed needs hostKey, the fingerprint of the server's key (ssh-keyscan HOST | ssh-keygen -lf - shows it), or insecureHostKey: true.",
    'inbound.feed needs one of "passwordFrom", "privateKey" and "privateKeyFrom".',
  ]);
  const open = { kind: "sftp", host: "lab", username: "me", passwordFrom: "P", folder: "/in/", insecureHostKey: true };
  expect(checkSftpInbound(open, "in")).toMatchObject({ folder: "/in", archive: "/in/archive", everyMs: 10_000 });
  expect(checkSftpOutbound({ ...open, hostKey: "MD5:1" }, "out")).toEqual([
    'out checks the server\'s key, so leave "insecureHostKey" out.',
  ]);
  expect(checkSftpOutbound({ ...open, insecureHostKey: false, hostKey: "MD5:1" }, "out")).toHaveLength(1);
});
