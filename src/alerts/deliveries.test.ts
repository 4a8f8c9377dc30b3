import { beforeEach, describe, expect, it } from "vitest";
import { UpkeepScene } from "../../test/support/upkeep-scene.js";
import { HoldfastError } from "../errors.js";
import type { StoredAlert } from "../store/alert-contract.js";
import { Deliveries } from "./deliveries.js";
import { asKept, type NotificationBody } from "./notification.js";
import type { Notifier, Told } from "./notifiers/notifier.js";

const day = 86_400_000;

/** A store with notifications, and a notifier that does what the test says. */
class Scene extends UpkeepScene {
  readonly sent: string[] = [];
  readonly counted: string[] = [];
  readonly stopping = new AbortController();
  answer: (body: NotificationBody) => Promise<Told> | Told = () => ({ kind: "sent" });
  readonly deliveries = this.node();

  node(): Deliveries {
    const notifier: Notifier = {
      kind: "webhook",
      send: async (body) => {
        this.sent.push(`${body.dedup_key}.${body.change}`);
        return await this.answer(body);
      },
    };
    return new Deliveries({
      book: this.store.alerts,
      notifiers: new Map([["hook", notifier]]),
      clock: this.clock,
      random: () => 0.5,
      metrics: { told: (kind, outcome) => this.counted.push(`${kind} ${outcome}`) },
      trouble: this.trouble,
      stopping: this.stopping.signal,
      signal: new AbortController().signal,
    });
  }

  async write(alertId: string, change: number, target = "hook"): Promise<void> {
    const { version, round } = await this.store.alerts.look({ version: null, sample: null, backMs: 0 });
    const body = asKept({ dedup_key: alertId, change, name: "down" } as NotificationBody);
    await this.store.alerts.keep({
      nodeId: "n",
      version,
      round,
      sample: null,
      alerts: [{ id: alertId, state: "firing" } as StoredAlert],
      gone: [],
      notifications: [{ alertId, change, target, body, told: false }],
      told: [],
      forgetAfterMs: null,
    });
  }

  async kicked(deliveries = this.deliveries, afterMs = 0): Promise<void> {
    await this.clock.advance(afterMs);
    deliveries.kick();
    await this.clock.advance(0);
  }
}

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

describe("deliveries", () => {
  it("outlive a notification that no notifier can read, as another version may have written it, and try it again", async () => {
    scene.answer = ({ labels }) => {
      if (labels.node === undefined) throw new Error("never here");
      return { kind: "sent" };
    };
    await scene.write("a", 1);
    await scene.kicked();
    await scene.deliveries.idle();
    expect(scene.shared.alerts.notifications).toMatchObject([
      { outcome: null, attempts: 1, problem: "it cannot be read (TypeError)" },
    ]);
    expect(scene.counted).toEqual(["webhook failed"]);
  });

  it("tell what waits, in each alert's order, once", async () => {
    for (const [id, change] of [
      ["a", 1],
      ["b", 1],
      ["a", 2],
      ["a", 3],
    ] as const)
      await scene.write(id, change);
    await scene.kicked();
    await scene.kicked(scene.node());
    expect(scene.sent.filter((sent) => sent.startsWith("a"))).toEqual(["a.1", "a.2", "a.3"]);
    expect(scene.sent).toHaveLength(4);
    expect(scene.counted).toEqual(Array(4).fill("webhook sent"));
  });

  it("leave to others what they do not know how to tell", async () => {
    await scene.write("a", 1, "slack:#elsewhere");
    await scene.kicked();
    expect(scene.sent).toEqual([]);
    expect(scene.shared.alerts.notifications).toMatchObject([{ outcome: null, attempts: 0 }]);
  });

  it("try again after 5 s, twice as long each time up to 10 minutes, for a day, and then give up", async () => {
    scene.answer = () => ({ kind: "failed", problem: "HTTP 500", afterMs: null });
    await scene.write("a", 1);
    const pauses: number[] = [];
    let last = scene.clock.mono();
    for (let second = 0; second < 2_000; second += 1) {
      const before = scene.sent.length;
      await scene.kicked(scene.deliveries, second === 0 ? 0 : 1_000);
      if (scene.sent.length === before) continue;
      pauses.push((scene.clock.mono() - last) / 1_000);
      last = scene.clock.mono();
    }
    expect(pauses).toEqual([0, 5, 10, 20, 40, 80, 160, 320, 600, 600]);
    expect(scene.troubles).toContain("could not tell hook of the alert down");
    await scene.kicked(scene.deliveries, day);
    expect(scene.shared.alerts.notifications).toMatchObject([{ outcome: "given_up", problem: "HTTP 500" }]);
  });

  it("wait as long as the other side asks for, up to an hour", async () => {
    scene.answer = () => ({ kind: "failed", problem: "HTTP 429", afterMs: 120_000 });
    await scene.write("a", 1);
    await scene.kicked();
    await scene.kicked(scene.deliveries, 119_000);
    expect(scene.sent).toHaveLength(1);
    scene.answer = () => ({ kind: "failed", problem: "HTTP 429", afterMs: 9_999_000_000 });
    await scene.kicked(scene.deliveries, 1_000);
    expect(scene.sent).toHaveLength(2);
    await scene.kicked(scene.deliveries, 3_600_000);
    expect(scene.sent).toHaveLength(3);
  });

  it("hold nobody else up by one target that does not answer", async () => {
    let answer = (_told: Told): void => undefined;
    scene.answer = async ({ dedup_key: key }) =>
      key === "slow" ? await new Promise<Told>((resolve) => (answer = resolve)) : { kind: "sent" };
    await scene.write("slow", 1);
    await scene.kicked();
    await scene.write("quick", 1);
    await scene.kicked();
    expect(scene.sent).toEqual(["slow.1", "quick.1"]);
    expect(scene.shared.alerts.notifications).toMatchObject([{ outcome: null }, { outcome: "sent" }]);
    answer({ kind: "sent" });
    await scene.deliveries.idle();
    expect(scene.shared.alerts.notifications).toMatchObject([{ outcome: "sent" }, { outcome: "sent" }]);
  });

  it("remember what was told and could not be written down", async () => {
    scene.store.alerts.settle = async () => await Promise.reject(new HoldfastError("DATABASE_AWAY", "gone"));
    await scene.write("a", 1);
    await scene.kicked();
    expect(scene.deliveries.unmarked).toEqual([{ alertId: "a", change: 1, target: "hook" }]);
    await scene.kicked();
    expect(scene.sent).toEqual(["a.1"]);
  });

  it("are taken over when whoever has claimed them does not come back", async () => {
    scene.answer = async () => await new Promise(() => undefined);
    await scene.write("a", 1);
    await scene.kicked();
    scene.answer = () => ({ kind: "sent" });
    const other = scene.node();
    await scene.kicked(other, 29_000);
    expect(scene.sent).toHaveLength(1);
    await scene.kicked(other, 1_000);
    expect(scene.sent).toEqual(["a.1", "a.1"]);
    expect(scene.shared.alerts.notifications).toMatchObject([{ outcome: "sent", attempts: 2 }]);
  });

  it("claim nothing more once they are over", async () => {
    await scene.write("a", 1);
    scene.stopping.abort();
    await scene.kicked();
    expect(scene.sent).toEqual([]);
  });
});
