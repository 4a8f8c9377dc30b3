import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { calm, clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { type Answer, EngineScene, feed, ServedEngineNode, visit } from "./engine-scene.js";

const idsOf = ({ body }: Answer): readonly string[] => (body.items as { id: string }[]).map(({ id }) => id);

describe("the messages of the engine", () => {
  let scene: EngineScene;
  /** By control id. */
  const ids: Record<string, string> = {};
  let between = 0;

  beforeAll(async () => {
    scene = await EngineScene.open();
    ids.sent = await scene.receive("sent", "hf_canary");
    between = (await scene.leader.node.engine.book.message(ids.sent))?.steps.at(-1)?.at ?? 0;
    ids.nobody = await scene.receive("nobody", "nobody");
    ids.unrouted = await scene.receive("unrouted", "77", "ORU^R01");
    ids.broken = await scene.receive("broken", "broken");
  });
  afterAll(async () => await scene[Symbol.asyncDispose]());

  it("are a list on every node, newest first, without what they say", async () => {
    for (const node of [scene.leader, scene.other]) {
      const answer = await node.get("/messages");
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain("canary");
      expect(answer.body).toEqual({
        items: [
          expect.objectContaining({ id: ids.broken, statuses: ["processed", "sent", "error"] }),
          expect.objectContaining({ id: ids.unrouted, type: "ORU^R01", statuses: ["unrouted"] }),
          expect.objectContaining({ id: ids.nobody, statuses: ["filtered"] }),
          {
            id: ids.sent,
            received_at: expect.any(Number),
            connection: "adt-in",
            type: "ADT^A01",
            control_id: "sent",
            size: visit("sent", "hf_canary").length,
            replay_of: null,
            statuses: ["processed", "sent"],
          },
        ],
        next_cursor: null,
      });
    }
  });

  it.each<[string, readonly string[]]>([
    ["connection=adt-in", ["broken", "unrouted", "nobody", "sent"]],
    ["connection=other", []],
    ["type=ADT", ["broken", "nobody", "sent"]],
    ["type=ORU%5ER01", ["unrouted"]],
    ["control_id=nobody", ["nobody"]],
    ["status=error", ["broken"]],
    ["status=filtered&type=ADT%5EA01", ["nobody"]],
    ["status=received", []],
    ["text=hf_canary", ["sent"]],
    ["text=HIS%20nobody", ["nobody"]],
    ["text=nothing-of-the-kind", []],
    ["limit=1", ["broken"]],
  ])("are found by ?%s", async (query, expected) => {
    const answer = await scene.other.get(`/messages?${query}`);
    expect(idsOf(answer)).toEqual(expected.map((name) => ids[name]));
  });

  it("are found by time, as seconds or as ISO 8601, and page by page", async () => {
    const iso = new Date(between).toISOString();
    expect(idsOf(await scene.other.get(`/messages?until=${iso}`))).toContain(ids.sent);
    expect(idsOf(await scene.other.get("/messages?since=4000000000"))).toEqual([]);
    expect(idsOf(await scene.other.get("/messages?since=1000000000"))).toHaveLength(4);
    expect(idsOf(await scene.other.get("/messages?until=1000000000"))).toEqual([]);
    const first = await scene.other.get("/messages?limit=3");
    const second = await scene.other.get(`/messages?limit=3&cursor=${String(first.body.next_cursor)}`);
    expect([...idsOf(first), ...idsOf(second)]).toEqual([ids.broken, ids.unrouted, ids.nobody, ids.sent]);
    expect(second.body.next_cursor).toBe(null);
  });

  it.each([
    "limit=0",
    "limit=1001",
    "limit=x",
    "cursor=x",
    "since=yesterday",
    "until=%00",
    "status=done",
    "status=replayed",
    "connection=",
    `connection=${"x".repeat(201)}`,
    "type=%00",
    "control_id=%0d",
    "text=",
    `text=${"x".repeat(501)}`,
    "body=x",
    "from=1",
  ])("refuse ?%s with 422, and do not repeat it", async (query) => {
    const answer = await scene.leader.get(`/messages?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ error: "INVALID_REQUEST", details: { problems: [{}] } });
  });

  it("have an account of all that became of them, which says nothing of what they say", async () => {
    const answer = await scene.other.get(`/messages/${ids.sent}`);
    expect(answer.text).not.toContain("canary");
    expect(answer.body).toMatchObject({ id: ids.sent, ack: "AA", pending: [], dead_letters: [] });
    const steps = answer.body.steps as { kind: string; lane: string; detail: unknown; has_body: boolean }[];
    const told = steps.map(({ kind, lane, has_body: hasBody, detail }) => [kind, lane, hasBody, detail]);
    expect(told.toSorted((one, other) => (String(one) < String(other) ? -1 : 1))).toEqual([
      ["processed", "adt-in/to-lab", false, { to: ["lab"] }],
      ["processed", "adt-in/to-pharmacy", false, { to: ["pharmacy"] }],
      ["sent", "lab", true, { attempt: 1, reply: "AA" }],
      ["sent", "pharmacy", true, { attempt: 1, reply: "AA" }],
    ]);
    expect((await scene.leader.get(`/messages/${ids.broken}`)).body).toMatchObject({
      dead_letters: [
        {
          stage: "routed",
          lane: "adt-in/to-lab",
          reason: expect.stringMatching(/^handler "to-lab" failed at feed\.ts:\d+:\d+: no such ward$/),
          redriven_at: null,
        },
      ],
    });
  });

  it.each(["999", "0", "x", "1e1", "-1", "9999999999999999999"])("that are not there (%s) are 404", async (id) => {
    for (const url of [`/messages/${id}`, `/messages/${id}/body`, `/messages/${id}/body?step=1`]) {
      const answer = await scene.other.get(url);
      expect([url, answer.status, answer.body]).toEqual([
        url,
        404,
        { error: "NOT_FOUND", message: `There is no message "${id}".` },
      ]);
    }
    const replay = await scene.leader.post(`/messages/${id}/replay`);
    expect([replay.status, replay.body.error]).toEqual([404, "NOT_FOUND"]);
  });

  it("show their bytes, as they came and as they went out, and are never taken for a page", async () => {
    const raw = await scene.other.get(`/messages/${ids.sent}/body`);
    expect(raw.bytes.toString()).toBe(visit("sent", "hf_canary"));
    expect(raw.headers).toMatchObject({
      "content-type": "application/hl7-v2; charset=utf-8",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
      "cache-control": "no-store",
    });
    expect(raw.headers["content-disposition"]).toBeUndefined();

    const { body } = await scene.leader.get(`/messages/${ids.sent}`);
    const steps = body.steps as { step: number; kind: string; lane: string }[];
    const lab = steps.find(({ kind, lane }) => kind === "sent" && lane === "lab")?.step;
    const sent = await scene.other.get(`/messages/${ids.sent}/body?step=${lab}&download=true`);
    expect(sent.text).toBe(scene.lab.messages[0]);
    expect(sent.text).toContain("|LAB|");
    expect(sent.headers["content-disposition"]).toBe(`attachment; filename="message-${ids.sent}-step-${lab}.hl7"`);

    const processed = steps.find(({ kind }) => kind === "processed")?.step;
    expect((await scene.leader.get(`/messages/${ids.sent}/body?step=${processed}`)).body).toEqual({
      error: "NOT_FOUND",
      message: expect.stringMatching(/is "processed", and nothing went out by it: ask for one that is "sent"\.$/),
    });
    expect((await scene.leader.get(`/messages/${ids.sent}/body?step=99`)).body).toMatchObject({
      error: "NOT_FOUND",
      message: `Message ${ids.sent} has no step 99.`,
    });
    for (const query of ["step=0", "step=x", "download=1", "part=1"]) {
      expect((await scene.leader.get(`/messages/${ids.sent}/body?${query}`)).status).toBe(422);
    }
  });

  it("of queue engine are redriven from the dead letters like any other", async () => {
    const letters = await scene.other.get("/dead-letters?queue=engine");
    expect(letters.body.items).toMatchObject([{ role: "engine", stage: "routed", lane: "adt-in/to-lab" }]);
    const [id] = idsOf(letters);
    const elsewhere = await scene.other.post(`/dead-letters/${id}/redrive`);
    expect(elsewhere.body).toMatchObject({ error: "NOT_LEADER", leader_id: "a", node_id: "b" });
    const { "feed.ts": text = "" } = feed(scene.port, scene.lab.port, scene.pharmacy.port);
    await scene.folder.write({ "feed.ts": text.replace('if (hl7.get("PID-3") === "broken")', "if (false)") });
    expect((await scene.leader.post("/config/reload")).status).toBe(200);
    const redriven = await scene.leader.post(`/dead-letters/${id}/redrive`);
    expect(redriven.body).toMatchObject({ id, queue: "engine", stage: "routed", lane: "adt-in/to-lab" });
    await expect.poll(() => scene.lab.messages.some((message) => message.includes("broken"))).toBe(true);
    await scene.settled("broken");
    expect((await scene.leader.get("/messages?status=error")).body.items).toEqual([]);
  });
});

it("that retention has dropped are 410, and say so", async () => {
  await using database = await createTestDatabase();
  const served = new ServedEngineNode(await startLocalNode(clusterNode(database.url, "a", calm)));
  try {
    await withClient(database.url, async (client) => {
      const add = async (id: number): Promise<void> => {
        await client.query(
          `insert into holdfast.engine_messages (id, received_at, connection, type, control_id, lane, position, segment, size)
           values ($1, now() - interval '1 day', 'adt-in', 'ADT^A01', 'x', 1, 1, 1, 3)`,
          [id],
        );
      };
      await client.query("select holdfast.open_engine_partition()");
      await add(5);
      await client.query("select holdfast.open_engine_partition()");
      await add(1_000_007);
      const { rows } = await client.query("select holdfast.drop_engine_partition(1000) as held");
      expect(rows).toEqual([{ held: "1" }]);
    });
    for (const url of ["/messages/5", "/messages/5/body"]) {
      const answer = await served.get(url);
      expect([answer.status, answer.body]).toEqual([
        410,
        {
          error: "GONE",
          message: "Message 5 is kept no more: it is older than the oldest that there is (retention.history_days).",
        },
      ]);
    }
    expect((await served.get("/messages/1000007")).status).toBe(200);
    // Its body was never here, or is gone: the journal lives longer than the bodies.
    expect((await served.get("/messages/1000007/body")).body).toEqual({
      error: "GONE",
      message: "The body of message 1000007 is kept no more (retention.bodies_days).",
    });
    expect((await served.get("/messages/1000008")).status).toBe(404);
  } finally {
    await served.close();
  }
});

it("reading what a message says takes messages:read by name, and leaves a line; neither log nor audit has a word of it", async () => {
  await using scene = await EngineScene.open();
  const id = await scene.receive("1", "hf_canary");
  const { access } = scene.leader.node;
  const tokenOf = async (name: string, role: "admin" | "viewer", grants: readonly "messages:read"[]) => {
    const { secret } = await access.create({ name, role, grants, lifetimeMs: null }, "test");
    await access.refresh();
    return { headers: { authorization: `Bearer ${secret}` } };
  };
  const admin = await tokenOf("boss", "admin", []);
  const reader = await tokenOf("reader", "viewer", ["messages:read"]);
  expect((await scene.leader.get(`/messages/${id}/body`)).status).toBe(401);
  expect((await scene.leader.get(`/messages/${id}/body`, admin)).status).toBe(403);
  expect((await scene.leader.get(`/messages/${id}/body`, reader)).text).toContain("hf_canary");
  const sent = scene.leader.node.engine.book
    .message(id)
    .then((account) => account?.steps.find(({ kind }) => kind === "sent"));
  const step = (await sent)?.step;
  expect((await scene.leader.get(`/messages/${id}/body?step=${step}`, reader)).text).toContain("hf_canary");
  expect((await scene.leader.get("/messages?text=hf_canary", reader)).status).toBe(200);
  // Whoever may ask which messages hold a word can read them word by word.
  expect((await scene.leader.get("/messages?text=hf_canary", admin)).status).toBe(403);
  expect((await scene.leader.get("/messages?control_id=1", admin)).status).toBe(200);
  const probe = await scene.leader.post("/messages/replay", { text: "hf_canary", dry_run: true }, admin);
  expect(probe.status).toBe(403);
  const replayed = await scene.leader.post(
    `/messages/${id}/replay`,
    { to: "lab", body: visit("2", "hf_canary") },
    admin,
  );
  expect(replayed.status).toBe(201);
  await scene.leader.post("/messages", { connection: "adt-in", body: visit("3", "hf_canary") }, admin);
  await scene.leader.post("/messages/replay", { ids: [id] }, admin);
  await scene.leader.post("/connections/lab/restart", undefined, admin);
  await scene.leader.post("/config/reload?dry_run=true", undefined, admin);
  const audit = await scene.leader.get("/audit", admin);
  const lines = audit.body.items as { actor: string; action: string; target: string; outcome: string }[];
  const told = lines.map(({ actor, action, target, outcome }) => [actor, action, target, outcome]);
  expect(told.toReversed().slice(-8)).toEqual([
    ["reader", "GET /messages/:id/body", id, "200"],
    ["reader", "GET /messages/:id/body", `${id} step ${step}`, "200"],
    ["boss", "POST /messages/replay", "dry run", "403"],
    ["boss", "POST /messages/:id/replay", `${id} to lab, edited`, "201"],
    ["boss", "POST /messages", expect.stringMatching(/^adt-in \d+$/), "201"],
    ["boss", "POST /messages/replay", expect.stringMatching(/^\d of \d to all$/), "200"],
    ["boss", "POST /connections/:name/restart", "lab", "200"],
    ["boss", "POST /config/reload", "dry run", "200"],
  ]);
  expect(JSON.stringify([lines, scene.leader.local.log])).not.toContain("canary");
});
