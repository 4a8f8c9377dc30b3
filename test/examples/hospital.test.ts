import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { heirOf } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { createTestDatabase, makeTestDirectory } from "../support/postgres.js";
import { quickCluster, ServeProcess, type ServeSettings } from "../support/serve-process.js";
import { type ExampleProcess, eventually, startExample } from "./example-process.js";

const root = join(import.meta.dirname, "../..");
const config = join(root, "examples/hospital/config");
const leads = "the graph runs here";

/** What the pharmacy is told. */
interface Movement {
  readonly control_id: string;
  readonly event: string;
  readonly patient: string;
  readonly bed: string | null;
  readonly left: string | null;
  readonly ward: string | null;
}

/** Ports and a folder of this test's own, for all processes that it starts. */
async function takePlaces(): Promise<AsyncDisposable & { readonly archive: string }> {
  const archive = await makeTestDirectory();
  const [adt, lab, pharmacy] = [await freePort(), await freePort(), await freePort()];
  vi.stubEnv("HOSPITAL_ADT_PORT", String(adt));
  vi.stubEnv("HOSPITAL_LAB_PORT", String(lab));
  vi.stubEnv("HOSPITAL_PHARMACY_URL", `http://127.0.0.1:${pharmacy}/movements`);
  vi.stubEnv("HOSPITAL_ARCHIVE", archive);
  const dispose = async (): Promise<void> => {
    vi.unstubAllEnvs();
    await rm(archive, { recursive: true, force: true });
  };
  return { archive, [Symbol.asyncDispose]: dispose };
}

async function startNode(settings: ServeSettings = {}): Promise<ServeProcess> {
  return await ServeProcess.start({ args: ["--config", config], settings });
}

const countOf = (example: ExampleProcess, pattern: RegExp): number =>
  example.lines.filter((line) => pattern.test(line)).length;

const acknowledged = ({ lines }: ExampleProcess): readonly string[] =>
  lines.flatMap((line) => line.match(/^AA (\S+)$/)?.[1] ?? []);

async function gotBy(systems: ExampleProcess, system: string, count: number): Promise<readonly string[]> {
  const seen = (): readonly string[] =>
    systems.lines.flatMap((line) => line.match(new RegExp(`^${system} got (?!again)(.*)$`))?.[1] ?? []);
  return await eventually(
    () => (seen().length >= count ? seen() : undefined),
    () => `${system} got ${seen().length} of ${count} messages`,
  );
}

it("is sound, and its types are", { timeout: 60_000 }, async () => {
  const run = (...args: readonly string[]): string =>
    execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(run(join(root, "node_modules/typescript/bin/tsc"), "-p", "examples/hospital")).toBe("");
  const told = JSON.parse(run(join(root, "dist/cli/main.js"), "config", "check", config, "--json")) as object;
  expect(told).toMatchObject({ warnings: [] });
});

it("runs by itself, with no other settings", { timeout: 90_000 }, async () => {
  await using places = await takePlaces();
  await using systems = startExample("hospital/systems");
  await systems.line(/are there$/);
  await using node = await startNode();
  await node.said(leads);
  // Seven patients are admitted, each to another ward; one in four is where the lab does not go.
  await using sender = startExample("hospital/send", "7");
  await sender.line(/^7 messages sent, each acknowledged$/);
  const [first = ""] = acknowledged(sender);
  const inLab = await gotBy(systems, "lab", 6);
  expect(inLab).toContainEqual(`${first} ADT^A01 P1000^^^HOSPITAL MED^1^1^^^^South`);
  expect(inLab.filter((line) => line.includes("REH"))).toEqual([]);
  const movements = (await gotBy(systems, "pharmacy", 7)).map((body) => JSON.parse(body) as Movement);
  const admitted = { event: "A01", patient: "P1000", bed: "MED-1", left: null, ward: "Internal medicine" };
  expect(movements[0]).toEqual({ control_id: first, ...admitted });
  const files = await gotBy(systems, "archive", 7);
  const file = await readFile(join(places.archive, files.find((name) => name.startsWith(`${first}-`)) ?? ""), "utf8");
  expect(file).toMatch(/^MSH\|\^~\\&\|HIS\|.*\rPID\|.*\|000-00-1000\rPV1\|.*\r$/s);
});

it("sends the same message again where none was acknowledged, also in another second", {
  timeout: 60_000,
}, async () => {
  const frames: string[] = [];
  const second = (): number => Math.floor(Date.now() / 1_000);
  const deaf = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (frame) => {
      frames.push(String(frame));
      const asked = second();
      const hangUp = (): unknown => (second() > asked ? socket.destroy() : setTimeout(hangUp, 10));
      hangUp();
    });
  }).listen(0, "127.0.0.1");
  await once(deaf, "listening");
  const { port } = deaf.address() as AddressInfo;
  await using sender = startExample("hospital/send", "1", `127.0.0.1:${port}`);
  await eventually(
    () => (frames.length >= 2 ? true : undefined),
    () => `it has sent ${frames.length} messages: ${sender.lines.join("; ")}`,
  );
  expect(frames[1]).toBe(frames[0]);
  deaf.close();
});

it("goes on where its leader was killed: nothing is lost, all is in order, and beds are remembered", {
  timeout: 120_000,
}, async () => {
  await using database = await createTestDatabase();
  await using places = await takePlaces();
  await using systems = startExample("hospital/systems");
  await systems.line(/are there$/);
  const settings = (id: string) => ({ ...quickCluster, "store.url": database.url, "cluster.node_id": id });
  await using first = await startNode(settings("first"));
  await first.said(leads);
  await using second = await startNode(settings("second"));
  await heirOf(database.url, "engine");
  const count = 400;
  await using sender = startExample("hospital/send", String(count));
  await eventually(
    () => (acknowledged(sender).length >= 50 ? true : undefined),
    () => `only ${acknowledged(sender).length} messages were acknowledged`,
  );
  first.kill("SIGKILL");
  await second.said(leads);
  await sender.line(new RegExp(`^${count} messages sent, each acknowledged$`));
  const sent = acknowledged(sender);
  expect(new Set(sent).size).toBe(count);
  expect(countOf(sender, /^connected to /)).toBeGreaterThan(1);

  const events = ["A01", "A02", "A08", "A02", "A02", "A03"];
  const eventOf = (index: number) => events[Math.floor(index / 7) % events.length];
  const moved = sent.filter((_, index) => eventOf(index) !== "A08");
  const movements = (await gotBy(systems, "pharmacy", moved.length)).map((body) => JSON.parse(body) as Movement);
  expect(movements.map(({ control_id }) => control_id)).toEqual(moved);
  const beds = new Map<string, string | null>();
  for (const { patient, bed, left } of movements) {
    expect(left).toBe(beds.get(patient) ?? null);
    beds.set(patient, bed);
  }

  const collects = (index: number) => ((index % 7) + Math.floor(index / 7)) % 4 !== 3;
  const forLab = sent.filter((_, index) => eventOf(index) !== "A08" && collects(index));
  const inLab = (await gotBy(systems, "lab", forLab.length)).map((line) => line.split(" "));
  expect(inLab.map(([id = ""]) => id).toSorted()).toEqual(forLab.toSorted());
  for (const patient of new Set(inLab.map(([, , id]) => id))) {
    const own = inLab.filter(([, , id]) => id === patient).map(([id]) => sent.indexOf(id ?? ""));
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }

  await gotBy(systems, "archive", count);
  // What the old leader had not yet given its name is hidden, and nobody's message.
  const visible = (await readdir(places.archive)).filter((name) => !name.startsWith("."));
  const archived = visible.map((name) => name.replace(/-\d+\.hl7$/, ""));
  expect(archived.toSorted()).toEqual(sent.toSorted());
  // What was under way at the kill may have come twice: one message for each connection, of which the lab has four.
  expect(countOf(systems, /^pharmacy got again/)).toBeLessThanOrEqual(1);
  expect(countOf(systems, /^lab got again/)).toBeLessThanOrEqual(4);
  expect(countOf(systems, /^archive got again/)).toBe(0);
});
