import { beforeEach, describe, expect, it } from "vitest";
import { MemoryCluster } from "../store/memory/cluster.js";
import { MemoryDatabase } from "../store/memory/database.js";
import { MemoryStore } from "../store/memory/store.js";
import { TestClock } from "../testing.js";
import { Access, anyone } from "./access.js";
import { permissions, permissionsOf } from "./permission.js";
import { hashToken, mintToken } from "./token.js";

const hour = 3_600_000;

describe("access", () => {
  let clock: TestClock;
  let access: Access;
  let store: MemoryStore;

  beforeEach(async () => {
    clock = new TestClock();
    const database = new MemoryDatabase({ now: () => clock.wall() });
    store = new MemoryStore(new MemoryCluster(database, (ms, fire) => clock.wakeAt(clock.mono() + ms, fire)), 5_000);
    access = new Access(store.access, clock);
    await access.refresh();
  });

  const create = async (lifetimeMs: number | null = null) =>
    await access.create({ name: "ops", role: "operator", grants: [], lifetimeMs }, "test");

  it("knows a token by its secret alone, and says what it may do", async () => {
    const { secret, token } = await create();
    expect(access.authenticate(secret)).toMatchObject({ name: "ops", tokenId: token.id, role: "operator" });
    expect(access.authenticate(secret)?.permissions.has("control")).toBe(true);
    expect(access.authenticate(secret)?.permissions.has("tokens")).toBe(false);
    for (const wrong of ["", `${secret}x`, secret.slice(0, -1), secret.toUpperCase(), token.hash, token.id]) {
      expect(access.authenticate(wrong)).toBeNull();
    }
  });

  it("tells its followers of every change, and who of those that were let in may go on", async () => {
    let told = 0;
    const following = access.follow(() => {
      told += 1;
    });
    expect(access.admits(anyone)).toBe(true);
    const { secret, token } = await create(hour);
    const caller = access.authenticate(secret)!;
    expect([told, access.admits(caller), access.admits(anyone)]).toEqual([1, true, false]);
    expect(access.remainingMs(caller)).toBe(hour);
    await clock.advance(hour - 1);
    expect(access.admits(caller)).toBe(true);
    await clock.advance(1);
    expect(access.admits(caller)).toBe(false);
    const lasting = await access.create({ name: "b", role: "viewer", grants: [], lifetimeMs: null }, "test");
    const other = access.authenticate(lasting.secret)!;
    await access.revoke(lasting.token.id);
    expect([told, access.admits(other)]).toEqual([3, false]);
    following[Symbol.dispose]();
    await access.revoke(token.id);
    expect(told).toBe(3);
  });

  it("never keeps the secret", async () => {
    const { secret, token } = await create();
    expect(JSON.stringify([token, (await store.access.tokens()).tokens])).not.toContain(secret);
    expect(token.hash).toBe(hashToken(secret));
  });

  it("is open until a first token is made, and stays closed when the last is revoked", async () => {
    expect(access.isOpen).toBe(true);
    const { token } = await create();
    expect(access.isOpen).toBe(false);
    await access.revoke(token.id);
    expect(access.isOpen).toBe(false);
  });

  it("is not open before the tokens have been read", () => {
    expect(new Access(store.access, clock).isOpen).toBe(false);
  });

  it("refuses a token that was revoked, or has expired by the database's clock, without asking the database", async () => {
    const { secret, token } = await create(hour);
    await clock.advance(hour - 1);
    expect(access.authenticate(secret)).not.toBeNull();
    await clock.advance(1);
    expect(access.authenticate(secret)).toBeNull();
    const { secret: other } = await access.create({ name: "b", role: "viewer", grants: [], lifetimeMs: null }, "test");
    await access.revoke(token.id);
    expect(access.authenticate(other)).not.toBeNull();
    expect(access.authenticate(secret)).toBeNull();
  });

  it("knows a token that it made, whatever a reading that began before still finds", async () => {
    const before = await store.access.tokens();
    let answer: () => void = () => undefined;
    const slow = {
      ...store.access,
      tokens: () => new Promise<typeof before>((resolve) => (answer = () => resolve(before))),
    };
    const behind = new Access(slow, clock);
    const first = behind.refresh();
    answer();
    await first;
    const reading = behind.refresh();
    const creating = behind.create({ name: "x", role: "viewer", grants: [], lifetimeMs: null }, "test");
    await clock.advance(0);
    answer();
    await reading;
    const { secret, token } = await creating;
    expect(behind.isOpen).toBe(false);
    expect(behind.authenticate(secret)).not.toBeNull();
    await behind.revoke(token.id);
    expect(behind.authenticate(secret)).toBeNull();
  });

  it("hands out the secret of a token that was made, also where the tokens cannot be read again", async () => {
    const blind = new Access({ ...store.access, tokens: () => Promise.reject(new Error("away")) }, clock);
    const { secret } = await blind.create({ name: "x", role: "viewer", grants: [], lifetimeMs: null }, "test");
    await access.refresh();
    expect(access.authenticate(secret)).not.toBeNull();
  });

  it("sees what another node did once it has heard of the new version", async () => {
    const elsewhere = new Access(store.access, clock);
    const { secret } = await elsewhere.create({ name: "x", role: "viewer", grants: [], lifetimeMs: null }, "test");
    expect(access.authenticate(secret)).toBeNull();
    const { accessVersion } = await store.access.tokens();
    expect(access.isBehind(accessVersion)).toBe(true);
    await access.refresh();
    expect(access.isBehind(accessVersion)).toBe(false);
    expect(access.authenticate(secret)).not.toBeNull();
  });
});

it("a minted token carries 256 random bits, and no two are alike", () => {
  const minted = new Set(Array.from({ length: 100 }, () => mintToken()));
  expect(minted.size).toBe(100);
  for (const token of minted) expect(Buffer.from(token.slice(3), "base64url")).toHaveLength(32);
});

it("an administrator may do everything but read the bodies of messages, and grants are by name", () => {
  const admin = permissionsOf("admin", []);
  expect(permissions.filter((permission) => !admin.has(permission))).toEqual(["messages:read"]);
  expect(permissionsOf("viewer", ["messages:read"])).toEqual(new Set(["monitoring:read", "messages:read"]));
  expect(permissionsOf("agent", [])).toEqual(new Set(["agent"]));
});
