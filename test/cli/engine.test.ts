import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.js";
import type { ConnectionAnswer } from "../../src/server/connection-routes.js";
import { EngineScene, feed, type ServedEngineNode, visit } from "../api/engine-scene.js";
import { type CommandResult, runHere } from "../support/command.js";
import { FakeCommandLine } from "../support/fake-command-line.js";

let scene: EngineScene;
const urls = new Map<ServedEngineNode, string>();
const ids: Record<string, string> = {};

beforeAll(async () => {
  scene = await EngineScene.open();
  for (const node of [scene.leader, scene.other]) {
    await node.app.listen({ host: "127.0.0.1", port: 0 });
    urls.set(node, `http://127.0.0.1:${(node.app.server.address() as AddressInfo).port}`);
  }
  ids.one = await scene.receive("one", "77");
  ids.two = await scene.receive("two", "nobody");
  ids.three = await scene.receive("three", "broken");
});
afterAll(async () => await scene[Symbol.asyncDispose]());

const at = async (node: ServedEngineNode, ...args: readonly string[]): Promise<CommandResult> =>
  await runHere(args, { env: { HOLDFAST_URL: urls.get(node) ?? "" }, cwd: scene.folder.path });

const said = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await at(scene.leader, ...args);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return stdout;
};

const controlIds = (messages: readonly string[]): readonly string[] =>
  messages.map((message) => message.split("|")[9] ?? "");

describe("holdfast messages", () => {
  it("list is a table, newest first, by whatever filter; and never what they say", async () => {
    const all = (await said("messages", "list")).trimEnd().split("\n");
    expect(all[0]).toMatch(/^ *id +received +connection +type +control id +status +bytes +replay of$/);
    expect(all.slice(1).map((line) => line.trim().split(/ {2,}/)[4])).toEqual(["three", "two", "one"]);
    expect(all[1]).toMatch(/ADT\^A01 +three +processed, sent, error /);
    const filters = ["--connection", "adt-in", "--type", "ADT", "--status", "filtered", "--since", "1000000000"];
    expect((await said("messages", "list", ...filters)).trimEnd().split("\n")).toHaveLength(2);
    const { items } = JSON.parse(await said("messages", "list", "--text", "broken", "--json")) as { items: object[] };
    expect(items).toMatchObject([{ id: ids.three, control_id: "three" }]);
    expect(await said("messages", "list", "--control-id", "none")).toBe("There is no such message.\n");
    expect(await said("messages", "list", "--limit", "1")).toMatch(
      /\nThese are the newest 1: --limit takes up to 1000\.\n$/,
    );
  });

  it("show tells what became of one", async () => {
    const shown = await said("messages", "show", ids.three ?? "");
    expect(shown).toMatch(/^answered +AA$/m);
    expect(shown).toMatch(/^ +\d+ +\S+ \S+ +sent +pharmacy +\{"attempt":1,"reply":"AA"\}$/m);
    expect(shown).toMatch(
      /^ +\d+ +\S+ \S+ +- +routed adt-in\/to-lab +handler "to-lab" failed at feed\.ts:.*no such ward$/m,
    );
    expect(JSON.parse(await said("messages", "show", ids.one ?? "", "--json"))).toMatchObject({ control_id: "one" });
    const missing = await at(scene.leader, "messages", "show", "999");
    expect(missing).toEqual({ code: 1, stdout: "", stderr: 'holdfast: There is no message "999". [NOT_FOUND]\n' });
  });

  it("body shows what one says, and writes it to a new file byte by byte", async () => {
    const body = visit("one", "77");
    expect(await said("messages", "body", ids.one ?? "")).toBe(body.replaceAll("\r", "\n"));
    const told = await said("messages", "body", ids.one ?? "", "--out", "one.hl7");
    expect(told).toBe(`${body.length} bytes (application/hl7-v2; charset=utf-8) are in one.hl7.\n`);
    const path = join(scene.folder.path, "one.hl7");
    expect(await readFile(path, "latin1")).toBe(body);
    expect((await at(scene.leader, "messages", "body", ids.one ?? "", "--out", "one.hl7")).stderr).toBe(
      `holdfast: The file ${path} is there already: name another. [USAGE]\n`,
    );
    const { steps } = JSON.parse(await said("messages", "show", ids.one ?? "", "--json")) as {
      steps: { step: number; kind: string; lane: string }[];
    };
    const lab = steps.find(({ kind, lane }) => kind === "sent" && lane === "lab")?.step;
    expect(await said("messages", "body", ids.one ?? "", "--step", String(lab))).toContain("|LAB|");
    expect((await at(scene.leader, "messages", "body", ids.one ?? "", "--step", "99")).stderr).toMatch(
      /has no step 99\. \[NOT_FOUND\]\n$/,
    );
  });

  it("replay takes messages in again by id, edited, and to one destination", async () => {
    const { one = "" } = ids;
    expect(await said("messages", "replay", one, "--to", "lab")).toMatch(
      new RegExp(`^Message ${one} is taken in again as \\d+\\.\\n$`),
    );
    await writeFile(join(scene.folder.path, "edited.hl7"), visit("edited", "88"));
    const edited = await said("messages", "replay", one, "--to", "lab", "--body-file", "edited.hl7", "--json");
    expect(JSON.parse(edited)).toEqual({ id: expect.any(String), replay_of: one });
    await expect.poll(() => controlIds(scene.lab.messages)).toEqual(["one", "one", "edited"]);
    const partly = await at(scene.leader, "messages", "replay", "999", one, "--to", "lab");
    expect(partly.code).toBe(1);
    expect(partly.stdout).toMatch(/^Message 999 was not replayed: There is no message "999"\.$/m);
    expect(partly.stdout).toMatch(new RegExp(`^Message ${one} is taken in again as \\d+\\.$`, "m"));
  });

  it("replay by filter says first which, asks, and keeps their order", async () => {
    for (const name of ["f1", "f2", "f3"]) ids[name] = await scene.receive(name, "filtered-later");
    const wish = ["messages", "replay", "--text", "later", "--to", "pharmacy"];
    const dry = await said(...wish, "--dry-run");
    expect(dry).toBe(`3 messages would be taken in again: ${ids.f1}, ${ids.f2}, ${ids.f3}.\n`);
    expect(await said(...wish, "--dry-run", "--limit", "2")).toBe(
      `2 messages would be taken in again: ${ids.f2}, ${ids.f3}, the newest, and there may be more: --limit takes up to 100000.\n`,
    );
    expect(await at(scene.leader, ...wish)).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "holdfast: 3 messages will be taken in again. Nobody is here to be asked whether that is meant: add --yes. [USAGE]\n",
    });
    const unsure = new FakeCommandLine({
      isTTY: true,
      answer: "n",
      env: { HOLDFAST_URL: urls.get(scene.leader) ?? "" },
    });
    expect(await run(wish, unsure)).toBe(1);
    expect(unsure.complained).toMatch(/Go on\? \[y\/N\] holdfast: Nothing was done\. \[REFUSED\]\n$/);
    const before = scene.pharmacy.messages.length;
    const { items } = JSON.parse(await said(...wish, "--yes", "--json")) as { items: { replay_of: string }[] };
    expect(items.map(({ replay_of: of }) => of)).toEqual([ids.f1, ids.f2, ids.f3]);
    await expect.poll(() => controlIds(scene.pharmacy.messages.slice(before))).toEqual(["f1", "f2", "f3"]);
  });

  it("replay of more than go at once shows how far it is", async () => {
    const { one = "" } = ids;
    const many = Array.from({ length: 101 }, (_, n) => (n === 0 ? one : String(900_000 + n)));
    const { code, stdout, stderr } = await at(scene.leader, "messages", "replay", ...many, "--to", "lab");
    expect(code).toBe(1);
    expect(stderr).toBe("100 of 101\n101 of 101\n");
    expect(stdout.split("\n").filter((line) => line.includes("was not replayed"))).toHaveLength(100);
  });

  it("send takes a test message in, and shows what became of it", async () => {
    const told = await said("messages", "send", "adt-in", "--text", visit("s1", "77"));
    expect(told).toMatch(/^Message \d+ was taken in by adt-in\.\n$/);
    expect(await said("messages", "send", "adt-in", "--text", visit("s1", "77"))).toMatch(
      /^Message \d+ of adt-in has this control id: nothing was taken in\. Give it another one in MSH-10, or replay \d+\.\n$/,
    );
    await writeFile(join(scene.folder.path, "broken.hl7"), visit("s2", "broken"));
    const waited = await at(scene.leader, "messages", "send", "adt-in", "--file", "broken.hl7", "--wait");
    expect(waited.code).toBe(1);
    expect(waited.stderr).toMatch(/^Message \d+ was taken in by adt-in\.\n/);
    expect(waited.stdout).toMatch(/no such ward$/m);
    const fine = await at(scene.leader, "messages", "send", "adt-in", "--text", visit("s3", "77"), "--wait", "--json");
    expect(fine.code).toBe(0);
    expect(JSON.parse(fine.stdout)).toMatchObject({ control_id: "s3", statuses: ["processed", "sent"] });
  });

  it("changes are for the leader: elsewhere one line says so", async () => {
    for (const args of [
      ["messages", "replay", "1"],
      ["messages", "send", "adt-in", "--text", "x"],
      ["connections", "stop", "lab"],
      ["config", "reload"],
    ]) {
      const refused = await at(scene.other, ...args);
      expect(refused.code).toBe(3);
      expect(refused.stderr).toMatch(/^holdfast: This node does not lead; "a" does[^\n]* \[NOT_LEADER\]\n$/);
    }
  });
});

describe("holdfast connections", () => {
  it("list shows how they are doing, on any node", async () => {
    const lines = (await said("connections", "list")).trimEnd().split("\n");
    expect(lines[0]).toMatch(
      /^connection +direction +transport +state +open +waiting +received +sent +errors +since +reason$/,
    );
    expect(lines.slice(1).map((line) => line.split(/ +/).slice(0, 4).join(" "))).toEqual([
      "adt-in inbound mllp running",
      "lab outbound mllp running",
      "pharmacy outbound mllp running",
    ]);
    const listed = JSON.parse(await said("connections", "list", "--json")) as { items: ConnectionAnswer[] };
    const [adtIn, lab] = listed.items;
    expect([adtIn?.counts.received, lab?.counts.sent]).not.toContain(0);
    expect(lines[1]?.split(/ +/).slice(6, 9)).toEqual([adtIn?.counts.received, "-", adtIn?.errors].map(String));
    expect(lines[2]?.split(/ +/).slice(6, 9)).toEqual(["-", lab?.counts.sent, lab?.errors].map(String));
    const elsewhere = await at(scene.other, "connections", "list", "--json");
    expect(JSON.parse(elsewhere.stdout)).toMatchObject({
      items: [{ name: "adt-in" }, { name: "lab" }, { name: "pharmacy" }],
    });
  });

  it("stop, start and restart them", async () => {
    expect(await said("connections", "stop", "lab", "pharmacy", "--reason", "night")).toBe(
      'Connection lab is stopped; "holdfast connections start lab" opens it again.\n' +
        'Connection pharmacy is stopped; "holdfast connections start pharmacy" opens it again.\n',
    );
    expect(await said("connections", "list")).toMatch(/^lab .* stopped .* stopped by hand: night$/m);
    const started = JSON.parse(await said("connections", "start", "lab", "pharmacy", "--json")) as { items: object[] };
    expect(started.items).toMatchObject([
      { name: "lab", state: "running" },
      { name: "pharmacy", state: "running" },
    ]);
    expect(await said("connections", "restart", "lab")).toBe("Connection lab is running.\n");
    const unknown = await at(scene.leader, "connections", "stop", "lap");
    expect(unknown).toMatchObject({
      code: 1,
      stderr:
        'holdfast: There is no connection "lap" in the configuration: there are "adt-in", "lab", "pharmacy". [NOT_FOUND]\n',
    });
  });
});

describe("holdfast config", () => {
  it("reload says what changes, waits for the nodes, and tells each problem in a line", async () => {
    const { "feed.ts": text = "" } = feed(scene.port, scene.lab.port, scene.pharmacy.port);
    const archive = 'export const archive = defineOutbound({ name: "archive", transport: at(1), retry });';
    await scene.folder.write({ "feed.ts": `${text}\n${archive}` });
    const warning = "warning: feed.ts: outbound archive is not in use: no handler names it.\nnew: outbound archive\n";
    expect(await said("config", "reload", "--dry-run")).toMatch(
      new RegExp(`^${warning}The folder \\([0-9a-f]{12}\\) would run\\.\\n$`),
    );
    expect(await said("config", "reload")).toMatch(
      new RegExp(`^${warning}The folder \\([0-9a-f]{12}\\) runs as version 1\\.\\nThe node runs version 1\\.\\n$`),
    );
    expect(JSON.parse(await said("config", "reload", "--json"))).toMatchObject({
      version: 2,
      changed: false,
      converged: true,
      nodes: [{ node_id: "a", version: 2 }],
    });
    expect(await said("config", "version")).toMatch(
      /^node +status +version +folder +why not\na +active +2 +[0-9a-f]{12} +-\n\nThe shared version is 2\.\n$/,
    );
    await scene.folder.write({
      "feed.ts": text.replace('router: "adt"', 'router: "atd"').replace('"lab"],', '"lap"],'),
    });
    const broken = await at(scene.leader, "config", "reload");
    expect(broken.code).toBe(2);
    expect(broken.stdout).toBe("");
    expect(broken.stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^holdfast: feed\.ts: .*did you mean "adt"\? \[BAD_SETTINGS\]$/),
      expect.stringMatching(/^holdfast: feed\.ts: .*did you mean "lab"\? \[BAD_SETTINGS\]$/),
    ]);
  });
});

it.each([
  [["messages", "list", "--status", "done"]],
  [["messages", "list", "--limit", "0"]],
  [["messages", "list", "--since", "yesterday"]],
  [["messages", "show"]],
  [["messages", "body", "1", "--step", "x"]],
  [["messages", "replay"]],
  [["messages", "replay", "1", "--type", "ADT"]],
  [["messages", "replay", "1", "2", "--body-file", "x"]],
  [["messages", "replay", "1", "--body-file", "missing"]],
  [["messages", "replay", "1", "--to", "No Where"]],
  [["messages", "send", "adt-in"]],
  [["messages", "send", "adt-in", "--text", "x", "--file", "y"]],
  [["messages", "send", "adt-in", "--file", "missing"]],
  [["connections", "stop"]],
  [["connections", "start", "lab", "--reason", "x"]],
  [["config", "reload", "--within", "soon"]],
])("%j is called wrongly, and says so in one line", async (args) => {
  const failed = await at(scene.leader, ...args);
  expect(failed).toMatchObject({ code: 2, stdout: "" });
  expect(failed.stderr).toMatch(/^holdfast: [^\n]+ \[(USAGE|INVALID_REQUEST)\]\n$/);
});
