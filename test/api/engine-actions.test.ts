import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withClient } from "../support/postgres.js";
import { type Answer, EngineScene, feed, visit } from "./engine-scene.js";

const json = { headers: { "content-type": "application/json" } };
const controlIdOf = (message: string): string => message.split("|")[9] ?? "";

let scene: EngineScene;
beforeAll(async () => {
  scene = await EngineScene.open();
});
afterAll(async () => await scene[Symbol.asyncDispose]());

/** Control ids, in the order in which they arrived. */
const atLab = (): readonly string[] => scene.lab.messages.map(controlIdOf);
const atPharmacy = (): readonly string[] => scene.pharmacy.messages.map(controlIdOf);
const errorOf = ({ status, body }: Answer): readonly unknown[] => [status, body.error, body.message];
const everything = async (): Promise<unknown> =>
  (await scene.leader.node.engine.book.search({}, { limit: 100 })).items.map(({ id }) => id);

describe("a message", () => {
  it("is replayed as a new one that names the old, to all or to one destination", async () => {
    const id = await scene.receive("r1", "77");
    const all = await scene.leader.post(`/messages/${id}/replay`);
    expect([all.status, all.body]).toEqual([201, { id: expect.any(String), replay_of: id }]);
    const one = await scene.leader.post(`/messages/${id}/replay`, { to: "pharmacy" });
    expect(one.status).toBe(201);
    await expect.poll(() => atPharmacy().filter((controlId) => controlId === "r1")).toHaveLength(3);
    expect(atLab().filter((controlId) => controlId === "r1")).toHaveLength(2);
    expect((await scene.other.get(`/messages/${String(one.body.id)}`)).body).toMatchObject({ replay_of: id });
  });

  it("is replayed edited, as text in its own charset or as bytes", async () => {
    const id = await scene.receive("r2", "77");
    const text = visit("r3", "Größe").replace("|2.5||||", "|2.5||||||8859/1");
    await scene.leader.post(`/messages/${id}/replay`, { to: "pharmacy", body: text });
    await expect.poll(atPharmacy).toContain("r3");
    expect(scene.pharmacy.messages.at(-1)).toBe(text); // The receiver reads latin-1.
    const bytes = Buffer.from(visit("r4", "Größe")).toString("base64");
    await scene.leader.post(`/messages/${id}/replay`, { to: "pharmacy", body: bytes, encoding: "base64" });
    await expect.poll(atPharmacy).toContain("r4");
    expect(Buffer.from(scene.pharmacy.messages.at(-1) ?? "", "latin1").toString()).toBe(visit("r4", "Größe"));
    const unfit = await scene.leader.post(`/messages/${id}/replay`, { body: text.replace("Größe", "雪") });
    expect(errorOf(unfit)).toEqual([
      422,
      "INVALID_REQUEST",
      "body holds a character that the message's charset (8859/1) does not have: send it as base64, or change MSH-18.",
    ]);
  });

  it("to try things with is taken in as if it had come from outside; a second one of its control id is known", async () => {
    const first = await scene.leader.post("/messages", { connection: "adt-in", body: visit("t1", "77") });
    expect([first.status, first.body]).toEqual([
      201,
      { id: expect.any(String), connection: "adt-in", duplicate: false, malformed: null },
    ]);
    await expect.poll(atLab).toContain("t1");
    const second = await scene.leader.post("/messages", { connection: "adt-in", body: visit("t1", "77") });
    expect([second.status, second.body]).toMatchObject([200, { id: first.body.id, duplicate: true }]);
    const odd = await scene.leader.post("/messages", { connection: "adt-in", body: "/w==", encoding: "base64" });
    expect([odd.status, odd.body]).toMatchObject([201, { malformed: expect.stringContaining("MSH") }]);
    const shown = await scene.leader.get(`/messages/${String(odd.body.id)}/body?download=true`);
    expect(shown.bytes).toEqual(Buffer.from([0xff]));
    expect(shown.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="message-${String(odd.body.id)}.bin"`,
    });
  });

  it("whose body is gone cannot be replayed as it came, but edited", async () => {
    const id = await scene.receive("g1", "77");
    await withClient(scene.database.url, async (client) => {
      await client.query(
        `delete from holdfast.messages m using holdfast.engine_messages e where e.id = $1 and (m.lane, m.position) = (e.lane, e.position)`,
        [id],
      );
    });
    expect(errorOf(await scene.leader.post(`/messages/${id}/replay`))).toEqual([
      410,
      "GONE",
      `The body of message ${id} is kept no more (retention.bodies_days): send another.`,
    ]);
    expect((await scene.other.get(`/messages/${id}/body`)).status).toBe(410);
    expect((await scene.leader.post(`/messages/${id}/replay`, { body: visit("g2", "77") })).status).toBe(201);
  });
});

describe("many messages", () => {
  it("are replayed by filter in the order in which they came, and first only named", async () => {
    const ids = [
      await scene.receive("m1", "many"),
      await scene.receive("m2", "many"),
      await scene.receive("m3", "many"),
    ];
    const filter = { text: "many", since: 1_000_000_000 };
    expect((await scene.leader.post("/messages/replay", filter)).status).toBe(422); // A time is text here as in a query.
    const wish = { text: "many", since: "1000000000", to: "lab" };
    const before = await everything();
    const dry = await scene.leader.post("/messages/replay", { ...wish, dry_run: true });
    expect([dry.status, dry.body]).toEqual([
      200,
      { dry_run: true, matched: ids, replayed: 0, items: [], left: [], next_cursor: null },
    ]);
    expect(await everything()).toEqual(before);
    const newest = await scene.leader.post("/messages/replay", { ...wish, limit: 2 });
    expect(newest.body).toMatchObject({
      dry_run: false,
      replayed: 2,
      items: [{ replay_of: ids[1] }, { replay_of: ids[2] }],
      left: [],
      next_cursor: ids[1],
    });
    await expect.poll(() => atLab().slice(-2)).toEqual(["m2", "m3"]);
    const older = await scene.leader.post("/messages/replay", { ...wish, cursor: ids[1] });
    expect(older.body).toMatchObject({ matched: [ids[0]], replayed: 1, next_cursor: null });
  });

  it("are replayed by their ids; one that cannot be is told, and the others go on", async () => {
    const ids = [await scene.receive("n1", "77"), await scene.receive("n2", "77")];
    const wish = { ids: [ids[1], "999999", ids[0], "none"], to: "pharmacy" };
    const { status, body } = await scene.leader.post("/messages/replay", wish);
    expect(status).toBe(200);
    expect(body).toMatchObject({ replayed: 2, left: [] });
    const items = body.items as { replay_of: string; id: string | null; error?: string }[];
    expect(items.filter(({ error }) => error === undefined).map(({ replay_of: of }) => of)).toEqual(ids);
    expect(items.filter(({ id }) => id === null)).toEqual(
      expect.arrayContaining([
        { id: null, replay_of: "999999", error: "NOT_FOUND", message: 'There is no message "999999".' },
        { id: null, replay_of: "none", error: "NOT_FOUND", message: 'There is no message "none".' },
      ]),
    );
  });

  it("that are more than a request has time for are named, to be asked for again", async () => {
    const ids = [await scene.receive("o1", "77"), await scene.receive("o2", "77")];
    const over = AbortSignal.abort();
    const { replaying } = scene.leader.node.engine;
    expect(await replaying?.replayAll(ids, undefined, over)).toEqual({ outcomes: [], left: ids });
  });
});

describe("bad input changes nothing:", () => {
  const replay = "/messages/1/replay";
  const many = "/messages/replay";
  it.each<[string, string, unknown, number, string]>([
    ["a replay to an outbound that there is not", replay, { to: "nowhere" }, 404, 'There is no outbound "nowhere"'],
    ["a replay to a name that is none", replay, { to: "No Where" }, 422, "to must"],
    ["an empty body", replay, { body: "" }, 422, "body must"],
    ["an encoding of nothing", replay, { encoding: "base64" }, 422, "body is missing"],
    ["an encoding that is none", replay, { body: "x", encoding: "hex" }, 422, "encoding"],
    ["base64 that is none", replay, { body: "no!", encoding: "base64" }, 422, "body is not base64"],
    ["half of a character", replay, { body: "\ud800" }, 422, "body holds a character"],
    ["a body of another kind", replay, { body: { text: "x" } }, 422, "body must be"],
    ["an unknown field", replay, { destination: "lab" }, 422, "destination is not a field here"],
    ["a replay of everything", many, {}, 422, "say which messages, by a filter or by ids"],
    ["a replay of everything, bounded", many, { limit: 10 }, 422, "say which messages, by a filter or by ids"],
    ["ids and a filter", many, { ids: ["1"], type: "ADT" }, 422, "leave the filter out"],
    ["no ids", many, { ids: [] }, 422, "ids must"],
    ["too many ids", many, { ids: Array.from({ length: 1_001 }, () => "1") }, 422, "ids must not have more than 1000"],
    ["a limit above the highest", many, { type: "ADT", limit: 1_001 }, 422, "limit"],
    ["a dry run that is no answer", many, { type: "ADT", dry_run: "yes" }, 422, "dry_run must be"],
    ["a time that is none", many, { since: "yesterday" }, 422, "since must be seconds since 1970"],
    ["a dry run to nowhere", many, { type: "ADT", to: "nowhere", dry_run: true }, 404, "There is no outbound"],
    ["a message for nobody", "/messages", { body: "x" }, 422, "connection is missing"],
    ["a message without anything", "/messages", { connection: "adt-in" }, 422, "body is missing"],
    ["a message for an outbound", "/messages", { connection: "lab", body: "x" }, 404, 'There is no inbound "lab"'],
    ["a connection that there is not", "/connections/lap/stop", {}, 404, 'there are "adt-in", "lab"'],
    ["a reason that is none", "/connections/lab/stop", { reason: "" }, 422, "reason must"],
    ["a reason to start", "/connections/lab/start", { reason: "x" }, 422, "reason is not a field here"],
    ["a reload with a body", "/config/reload", { version: 3 }, 422, "version is not a field here"],
    ["a reload with another query", "/config/reload?dry=1", {}, 422, "dry is not a field here"],
    ["a dry run that is neither", "/config/reload?dry_run=1", {}, 422, "dry_run"],
  ])("%s", async (_what, url, payload, status, message) => {
    const before = [await everything(), scene.leader.node.configVersion];
    const answer = await scene.leader.post(url, payload);
    expect(errorOf(answer)).toEqual([status, expect.any(String), expect.stringContaining(message)]);
    expect([await everything(), scene.leader.node.configVersion]).toEqual(before);
  });

  it("a body that is too large", async () => {
    const body = "x".repeat(1_048_577);
    const answer = await scene.leader.post("/messages", { connection: "adt-in", body });
    expect(errorOf(answer)).toEqual([413, "BODY_TOO_LARGE", expect.any(String)]);
  });
});

describe("on a node that does not lead", () => {
  const refusal = {
    error: "NOT_LEADER",
    leader_id: "a",
    leader_url: expect.anything(),
    leader_epoch: expect.any(Number),
    node_id: "b",
    role: "STANDBY",
  };

  it.each([
    "/messages",
    "/messages/",
    "/messages/1/replay",
    "/messages/replay",
    "/messages/no/such/thing",
    "/messages/%zz",
    "/%6dessages",
    "/connections/lab/stop",
    "/connections/nobody/start",
    "/config/reload",
    "/config/reload?dry_run=true",
    "/config/nothing",
  ])("POST %s is answered with the way to the leader, whatever its body is", async (url) => {
    for (const payload of ["", "{ nonsense", '{"unknown":1}', "x".repeat(2_000_000)]) {
      const answer = await scene.other.post(url, payload, json);
      expect([url, answer.status, answer.body]).toEqual([url, 409, { ...refusal, leader_url: answer.body.leader_url }]);
    }
  });

  it("is not confused with another path", async () => {
    for (const url of ["/messagesx", "/configuration", "/connection"]) {
      expect(errorOf(await scene.other.post(url))).toEqual([404, "NOT_FOUND", expect.any(String)]);
    }
  });
});

describe("the connections", () => {
  const stateAt = async (node: EngineScene["leader"], name: string): Promise<Readonly<Record<string, unknown>>> => {
    const items = (await node.get("/connections")).body.items as Record<string, unknown>[];
    return items.find((item) => item.name === name) ?? {};
  };
  const metric = async (name: string): Promise<string | undefined> =>
    (await scene.leader.get("/metrics")).text.split("\n").find((line) => line.startsWith(`holdfast_engine_${name}`));

  it("are shown by the leader as it sees them, and by a node without a graph as the leader told", async () => {
    const expected = {
      name: "adt-in",
      direction: "inbound",
      transport: "mllp",
      state: "running",
      reason: null,
      since: expect.any(Number),
      connections: 1,
      waiting: 0,
      errors: expect.any(Number),
      counts: expect.objectContaining({ received: expect.any(Number), sent: 0 }),
      counts_at: null,
    };
    expect(await stateAt(scene.leader, "adt-in")).toEqual({ ...expected, told_at: null });
    await expect.poll(() => stateAt(scene.other, "adt-in")).toEqual({ ...expected, told_at: expect.any(Number) });
    const { items } = (await scene.other.get("/connections")).body;
    expect((items as { name: string }[]).map(({ name }) => name)).toEqual(["adt-in", "lab", "pharmacy"]);
    const page = await scene.leader.get("/connections?limit=1&cursor=adt-in");
    expect(page.body).toMatchObject({ items: [{ name: "lab", errors: 0 }], next_cursor: "lab" });
  });

  it("stop with a reason that everybody sees, keep what is to go out, and start again", async () => {
    const up = 'connection_up{connection="lab"}';
    expect(await metric(up)).toBe(`holdfast_engine_${up} 1`);
    const stopped = await scene.leader.post("/connections/lab/stop", { reason: "new certificate" });
    expect([stopped.status, stopped.body]).toEqual([
      200,
      {
        name: "lab",
        direction: "outbound",
        transport: "mllp",
        state: "stopped",
        reason: "stopped by hand: new certificate",
        since: expect.any(Number),
        connections: 0,
      },
    ]);
    expect(await metric(up)).toBe(`holdfast_engine_${up} 0`);
    await scene.leader.post("/messages", { connection: "adt-in", body: visit("c1", "77") });
    await expect.poll(() => stateAt(scene.leader, "lab")).toMatchObject({ state: "stopped", waiting: 1 });
    expect(await stateAt(scene.other, "lab")).toMatchObject({ state: "stopped", waiting: 1 });
    expect(atLab()).not.toContain("c1");
    expect((await scene.leader.post("/connections/lab/start")).body).toMatchObject({ state: "running", reason: null });
    await expect.poll(atLab).toContain("c1");
    expect((await scene.leader.post("/connections/adt-in/restart")).body).toMatchObject({
      state: "running",
      connections: 0,
    });
  });

  it("are counted: what came in, what went out, what failed", async () => {
    const count = async (connection: string, status: string): Promise<number> =>
      Number((await metric(`messages_total{connection="${connection}",status="${status}"}`))?.split(" ").at(-1));
    const before = [await count("adt-in", "received"), await count("lab", "sent"), await count("adt-in", "error")];
    await scene.leader.post("/messages", { connection: "adt-in", body: visit("k1", "77") });
    await scene.leader.post("/messages", { connection: "adt-in", body: visit("k2", "broken") });
    await scene.settled("k1");
    await scene.settled("k2");
    const after = [await count("adt-in", "received"), await count("lab", "sent"), await count("adt-in", "error")];
    expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([2, 1, 1]);
    expect(await count("pharmacy", "error")).toBe(0);
    expect(await metric("ack_seconds_count")).toMatch(/ \d+$/);
  });
});

describe("the configuration", () => {
  it("is loaded anew, first only to see; what is wrong with it is told, and then nothing is changed", async () => {
    const version = async (): Promise<Answer["body"]> => (await scene.other.get("/config/version")).body;
    const before = await version();
    expect(before).toEqual({
      version: 0,
      node_id: "b",
      node_version: null,
      hash: null,
      converged: true,
      nodes: [{ node_id: "a", status: "active", version: 0, hash: expect.any(String), error: null, converged: true }],
      references: [],
    });
    const { "feed.ts": text = "" } = feed(scene.port, scene.lab.port, scene.pharmacy.port);
    const archive = 'export const archive = defineOutbound({ name: "archive", transport: at(1), retry });';
    await scene.folder.write({ "feed.ts": `${text}\n${archive}` });
    const dry = await scene.leader.post("/config/reload?dry_run=true");
    expect([dry.status, dry.body]).toEqual([
      200,
      {
        dry_run: true,
        version: 0,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        changed: true,
        added: ["outbound archive"],
        removed: [],
        warnings: ["feed.ts: outbound archive is not in use: no handler names it."],
      },
    ]);
    expect(await version()).toEqual(before);
    const done = await scene.leader.post("/config/reload");
    expect(done.body).toEqual({ ...dry.body, dry_run: false, version: 1 });
    expect(await version()).toMatchObject({
      version: 1,
      converged: true,
      nodes: [{ version: 1, hash: dry.body.hash }],
    });
    expect((await scene.leader.get("/cluster/status")).body).toMatchObject({ config_version: 1 });

    await scene.folder.write({ "feed.ts": text.replace('router: "adt"', 'router: "atd"') });
    const broken = await scene.leader.post("/config/reload");
    expect([broken.status, broken.body]).toEqual([
      422,
      {
        error: "INVALID_REQUEST",
        message: expect.stringMatching(/^The configuration is not sound, and nothing was changed: feed\.ts: /),
        details: {
          problems: [expect.stringContaining('there is no such router: did you mean "adt"?')],
        },
      },
    ]);
    expect(await version()).toMatchObject({ version: 1, converged: true });
  });

  it("that a connection has left leaves its messages to be seen, and sent elsewhere", async () => {
    const id = await scene.receive("l1", "77");
    await scene.folder.write(feed(scene.port, scene.lab.port, scene.pharmacy.port, "new-in"));
    const reloaded = await scene.leader.post("/config/reload");
    expect(reloaded.body).toMatchObject({
      added: ["inbound new-in"],
      removed: expect.arrayContaining(["inbound adt-in"]),
    });
    expect(errorOf(await scene.leader.post(`/messages/${id}/replay`))).toEqual([
      409,
      "REFUSED",
      `Message ${id} came in by connection "adt-in", which left the configuration: send its body to another one.`,
    ]);
    const many = await scene.leader.post("/messages/replay", { control_id: "l1" });
    expect(many.body).toMatchObject({ replayed: 0, items: [{ id: null, replay_of: id, error: "REFUSED" }] });
    const body = (await scene.leader.get(`/messages/${id}/body`)).text.replace("|l1|", "|l2|");
    expect((await scene.leader.post("/messages", { connection: "new-in", body })).status).toBe(201);
    await expect.poll(atLab).toContain("l2");
  });
});
