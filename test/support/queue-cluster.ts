import { EventEmitter, once, setMaxListeners } from "node:events";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { within } from "../../src/lifecycle/within.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import type { Delivery, DeliveryHistory, Freeze, InFlight } from "./delivery-history.js";
import { clusterNode, heirOf, quick } from "./election.js";
import { withClient } from "./postgres.js";
import { type Answer, type Election, QueueProcess } from "./queue-process.js";

export const queueOptions = {
  name: "orders",
  stages: ["ingress", "outbound"],
  concurrency: 8,
  batch: 40,
  backoffMs: 5,
  backoffCapMs: 20,
} as const;

const retryAfterMs = 20;
const deadlineMs = 20_000;
const probeCount = 40;

/** A process from its election until another is elected, or it ends. */
interface Reign {
  readonly process: QueueProcess;
  readonly epoch: number;
  readonly over: AbortController;
}

/** The first sign of the next leader after a fault, and how long it took from the signal. */
export interface Takeover {
  readonly epoch: number;
  readonly reason: string;
  readonly electedMs: number;
  readonly deliveredMs: number;
}

/** What a leader did that was frozen, and thawed when another led. */
export interface Stall {
  readonly takeover: Takeover;
  readonly thawed: QueueProcess;
  /** Its answers to what it was asked before the freeze, by kind or code, and how many of each. */
  readonly late: ReadonlyMap<string, number>;
  /** Its answer to what came while it was frozen. */
  readonly afterThaw: Answer;
}

/** Processes that share a queue, all they delivered, and the faults they are put through. Some node is always there to lead. */
export class QueueCluster implements AsyncDisposable {
  private readonly deliveries: Delivery[] = [];
  private readonly freezes: Freeze[] = [];
  private readonly sent = new Map<string, number>();
  private readonly acknowledged = new Map<string, number>();
  private readonly url: string;
  private readonly processes = new Set<QueueProcess>();
  /** Also those that are gone. */
  private readonly everyProcess = new Set<QueueProcess>();
  private readonly events = new EventEmitter<{ elected: [Election]; delivered: [Delivery] }>();
  private readonly unanswered = new Map<QueueProcess, Set<Promise<Answer>>>();
  private reign: Reign | null = null;
  private made = 0;

  private constructor(url: string) {
    this.url = url;
    this.events.setMaxListeners(0);
  }

  static async start(url: string, size: number): Promise<QueueCluster> {
    const cluster = new QueueCluster(url);
    try {
      await Promise.all(Array.from({ length: size }, () => cluster.add()));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Resolves when these are acknowledged by whoever leads; until then they are asked for again, with the same keys. */
  async enqueue(lane: string, numbers: readonly number[]): Promise<void> {
    for (;;) {
      const reign = await this.leading();
      const answer = await Promise.race([this.ask(reign.process, lane, numbers), aborted(reign.over.signal)]);
      if (answer?.kind === "done") return;
      if (answer?.kind === "refused") await pause(retryAfterMs);
      if (answer?.kind === "gone") await aborted(reign.over.signal);
    }
  }

  /** SIGKILL of the leader. Resolves when the next one delivers and a fresh process has joined in place of the killed. */
  async crash(): Promise<Takeover> {
    await heirOf(this.url, "scheduler", { fresh: true });
    const { process, epoch } = await this.leading();
    const next = this.afterReign(epoch);
    const takeover = next.from(process.kill("SIGKILL"));
    const [seen] = await Promise.all([takeover, process.gone]);
    this.processes.delete(process);
    await this.add();
    return seen;
  }

  /** SIGSTOP of the leader until another leads and delivers, then SIGCONT. Resolves when it has answered all that it owes. */
  async stall(): Promise<Stall> {
    await heirOf(this.url, "scheduler", { fresh: true });
    const { process, epoch } = await this.leading();
    const next = this.afterReign(epoch);
    await this.probe(process, `probe-${epoch}`);
    const takeover = next.from(process.kill("SIGSTOP"));
    try {
      const owed = [...(this.unanswered.get(process) ?? [])];
      const afterThaw = this.ask(process, `late-${epoch}`, [1]);
      this.freezes.push({ epoch, inFlight: await this.inFlightOf(process, epoch) });
      const seen = await takeover;
      const lost = once(process, "lost");
      process.thaw();
      const answers = await this.soon("the answers of a thawed leader", Promise.all([...owed, afterThaw]));
      await this.soon("the end of a thawed leader's term", Promise.race([lost, process.gone]));
      return { takeover: seen, thawed: process, late: countBy(answers.map(nameOf)), afterThaw: await afterThaw };
    } finally {
      process.thaw();
    }
  }

  /**
   * Messages in lanes of their own that are asked for once, and not again at the next leader: what the leader acknowledges of
   * them, whenever it does, it alone has to account for.
   */
  private async probe(leader: QueueProcess, prefix: string): Promise<void> {
    for (let n = 0; n < probeCount; n += 1) {
      void this.ask(leader, `${prefix}-${n}`, [1]);
      await nextTurn();
    }
  }

  private async ask(process: QueueProcess, lane: string, numbers: readonly number[]): Promise<Answer> {
    const last = Math.max(...numbers);
    this.sent.set(lane, last);
    const unanswered = this.unanswered.get(process) ?? new Set();
    const asked = process.ask("enqueue", { lane, numbers });
    this.unanswered.set(process, unanswered.add(asked));
    const answer = await asked;
    unanswered.delete(asked);
    if (answer.kind === "done") this.acknowledged.set(lane, Math.max(last, this.acknowledged.get(lane) ?? 0));
    return answer;
  }

  /** Resolves when nothing is left in any stage, and every delivery has been heard. */
  async drained(): Promise<void> {
    const empty = await waitUntil(async () => {
      const { process } = await this.leading();
      const answer = await process.ask("depth");
      return (
        answer.kind === "done" && Object.values(answer.value as Record<string, number>).every((depth) => depth === 0)
      );
    }, 30_000);
    if (!empty) throw new Error(`The queue did not drain:\n${this.story()}`);
  }

  async deadLetters(): Promise<number> {
    const { process } = await this.leading();
    return await process.value<number>("deadLetters");
  }

  /** Resolves when so many more deliveries have been heard. */
  async delivers(count: number): Promise<void> {
    const wanted = this.deliveries.length + count;
    const enough = this.first("delivered", () => this.deliveries.length >= wanted);
    await this.soon(`${count} deliveries`, enough);
  }

  history(): DeliveryHistory {
    const { stages, batch } = queueOptions;
    const { sent, acknowledged, deliveries, freezes } = this;
    const lostTrack = new Set([...this.everyProcess].flatMap((process) => [...process.lostTrack]));
    return { stages, batch, sent, acknowledged, deliveries, freezes, lostTrack };
  }

  onDelivery(listener: (delivery: Delivery) => void): void {
    this.events.on("delivered", listener);
  }

  /** The last lines that each process logged, for the message of a failed test. */
  story(): string {
    return [...this.processes].map(({ id, log }) => `${id}:\n${log.slice(-20).join("\n")}`).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.processes].map((process) => process[Symbol.asyncDispose]()));
  }

  private async add(): Promise<void> {
    this.made += 1;
    const settings = clusterNode(this.url, `node-${this.made}`, quick);
    const process = new QueueProcess({ settings, queue: queueOptions });
    this.processes.add(process);
    this.everyProcess.add(process);
    process.on("delivery", (delivery) => {
      this.deliveries.push(delivery);
      this.events.emit("delivered", delivery);
    });
    process.on("elected", (election) => this.crown(process, election));
    process.gone.then(
      () => this.uncrown(process),
      () => undefined,
    );
    await process.started();
  }

  private crown(process: QueueProcess, election: Election): void {
    if (this.reign !== null && this.reign.epoch > election.epoch) return;
    this.reign?.over.abort();
    const over = new AbortController();
    setMaxListeners(0, over.signal);
    this.reign = { process, epoch: election.epoch, over };
    this.events.emit("elected", election);
  }

  private uncrown(process: QueueProcess): void {
    if (this.reign?.process === process) this.reign.over.abort();
  }

  private async leading(): Promise<Reign> {
    while (this.reign === null || this.reign.over.signal.aborted) await once(this.events, "elected");
    return this.reign;
  }

  /** Listens from now on, so that nothing is missed between the signal and the first look. */
  private afterReign(epoch: number): { from(signalledAt: number): Promise<Takeover> } {
    const elected = this.first("elected", (election) => election.epoch > epoch);
    const delivered = this.first("delivered", (delivery) => delivery.epoch > epoch);
    return {
      from: async (signalledAt) => {
        const election = await this.soon("the next election", elected);
        const deliveredMs = (await this.soon("the next leader's first delivery", delivered)).at - signalledAt;
        const { reason } = election;
        return { epoch: election.epoch, reason, electedMs: election.at - signalledAt, deliveredMs };
      },
    };
  }

  private first<Kind extends "elected" | "delivered">(
    kind: Kind,
    condition: (event: { elected: Election; delivered: Delivery }[Kind]) => boolean,
  ): Promise<{ elected: Election; delivered: Delivery }[Kind]> {
    return new Promise((resolve) => {
      const look = (event: { elected: Election; delivered: Delivery }[Kind]): void => {
        if (!condition(event)) return;
        (this.events as EventEmitter).off(kind, look);
        resolve(event);
      };
      (this.events as EventEmitter).on(kind, look);
    });
  }

  /** A test that waits for ever ends nothing that it started. */
  private async soon<Result>(what: string, work: Promise<Result>): Promise<Result> {
    return await within(deadlineMs, work, () => {
      throw new Error(`Waited in vain for ${what}:\n${this.story()}`);
    });
  }

  /** A frozen process sends no more, so once its sessions are quiet the rows stay as they are until another leads. */
  private async inFlightOf(frozen: QueueProcess, epoch: number): Promise<readonly InFlight[] | null> {
    return await withClient(this.url, async (client) => {
      const quiet = await waitUntil(async () => {
        const { rows } = await client.query(
          "SELECT FROM pg_stat_activity WHERE application_name LIKE 'holdfast % ' || $1 AND state = 'active' AND datname = current_database()",
          [frozen.id],
        );
        return rows.length === 0;
      }, 1_000);
      const { rows } = await client.query<{ stage: string; lane: string; done: string; claimed: string }>(
        `SELECT l.stage, l.name AS lane, l.done, l.claimed FROM holdfast.lanes l JOIN holdfast.leases r
         ON r.role = 'scheduler' AND r.epoch = $1 WHERE l.queue = $2`,
        [epoch, queueOptions.name],
      );
      if (!quiet || rows.length === 0) return null;
      return rows.map(({ stage, lane, done, claimed }) => ({
        stage,
        lane,
        done: Number(done),
        claimed: Number(claimed),
      }));
    });
  }
}

async function aborted(signal: AbortSignal): Promise<null> {
  if (!signal.aborted) await once(signal, "abort");
  return null;
}

function nameOf(answer: Answer): string {
  return answer.kind === "refused" ? answer.code : answer.kind;
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
