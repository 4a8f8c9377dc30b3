import { HoldfastError, StaleEpochError } from "../../../src/errors.js";
import type { QueueBook, StoredMessage } from "../../../src/store/queue-contract.js";
import type { Random } from "../random.js";
import type { Trace } from "../trace.js";
import type { Coverage } from "./coverage.js";
import type { QueueHooks } from "./hooks.js";
import type { DeathTrap, SimProcess } from "./process.js";
import { additionsOf, type BookRequest, claimOrderOf, fenceOf, isRead, type Method, settlementsOf } from "./request.js";
import type { QueueServer } from "./server.js";
import type { VirtualTime } from "./virtual-time.js";

type Fate = "fine" | "lost request" | "lost reply" | "lost commit" | "late commit" | "slow reply" | "done twice";

const fates = new Map<Fate, number>([
  ["lost request", 3],
  ["lost reply", 3],
  ["lost commit", 1.5],
  ["late commit", 3],
  ["slow reply", 2],
  ["done twice", 1],
]);

/** Who hears of what is on the wire. */
export interface WireListener {
  /** The messages of a claim have arrived. */
  claimed(request: BookRequest, messages: readonly StoredMessage[]): void;
  /** A process met its trap. */
  trapped(process: SimProcess): void;
}

/** Between the processes and the database: requests and replies are late, and get lost. */
export class Wire {
  /** The share of requests that meet with something. */
  roughness = 0;
  private readonly time: VirtualTime;
  private readonly random: Random;
  private readonly trace: Trace;
  private readonly coverage: Coverage;
  private readonly server: QueueServer;
  private readonly hooks: QueueHooks;
  private readonly listener: WireListener;
  private requests = 0;
  /** Of each process, epoch and number, by lane: the request that was last sent to make that claim. */
  private readonly claimsSent = new Map<string, number>();

  constructor(
    around: {
      readonly time: VirtualTime;
      readonly random: Random;
      readonly trace: Trace;
      readonly coverage: Coverage;
      readonly server: QueueServer;
      readonly hooks: QueueHooks;
    },
    listener: WireListener,
  ) {
    this.time = around.time;
    this.random = around.random;
    this.trace = around.trace;
    this.coverage = around.coverage;
    this.server = around.server;
    this.hooks = around.hooks;
    this.listener = listener;
  }

  /** The book as a process has it. */
  bookOf(process: SimProcess): QueueBook {
    return new Proxy({} as QueueBook, {
      get:
        (_book, method: Method) =>
        (...args: readonly unknown[]) =>
          this.send(process, method, args),
    });
  }

  private async send(process: SimProcess, method: Method, args: readonly unknown[]): Promise<unknown> {
    if (!process.isAlive) return await never();
    this.requests += 1;
    const request = { id: this.requests, process, method, args, claims: this.claimsMeant(process, method, args) };
    this.note(process.node, `${method} >`, request);
    if (method === "claim") this.noteClaim(request);
    this.spring(process, method, "sent");
    if (this.hooks.answersAppendsEarly === true && method === "append") {
      this.travel(request, this.fateOf(request)).catch(() => undefined);
      return additionsOf(request)?.messages.length;
    }
    if (this.hooks.scattersAppends === true && method === "append") return await this.scatter(request);
    return await this.answerOf(request, this.travel(request, this.fateOf(request)));
  }

  /** What the process gets of it, if it is there to get it. */
  private async answerOf(request: BookRequest, answer: Promise<unknown>): Promise<unknown> {
    const { process, method } = request;
    return await new Promise((resolve, reject) => {
      const arrive = (act: () => void): void => {
        if (!process.isAlive) this.coverage.count("wire", "reply to a dead process");
        process.reach(act);
      };
      answer.then(
        (value) =>
          arrive(() => {
            this.note(process.node, `${method} <`, request);
            if (method === "settle" && (value as readonly number[]).length > 0) {
              this.coverage.count("refusal", "claim gone");
            }
            if (method === "claim") this.listener.claimed(request, value as readonly StoredMessage[]);
            resolve(value);
            this.time.after(0, () => this.spring(process, method, "answered"));
          }),
        (error: unknown) =>
          arrive(() => {
            this.note(process.node, `${method} ! ${codeOf(error)}`, request);
            reject(error instanceof Error ? error : new Error(String(error)));
          }),
      );
    });
  }

  private fateOf(request: BookRequest): Fate {
    if (request.process.isCutOff || !this.server.isUp) {
      return isRead(request) || this.random.chance(0.7) ? "lost request" : "lost commit";
    }
    if (!this.random.chance(this.roughness)) return "fine";
    const fate = this.random.weighted(fates);
    return isRead(request) && fate !== "slow reply" ? "lost request" : fate;
  }

  private async travel(request: BookRequest, fate: Fate): Promise<unknown> {
    if (fate !== "fine") this.coverage.count("wire", fate);
    if (fate !== "fine") this.trace.note(this.time.now, -1, `${fate} ${request.id}`, null);
    await this.pass(this.random.between(0.1, 2));
    if (fate === "lost request") throw await this.lost("DATABASE_AWAY", "Nothing of it was written.");
    if (fate === "lost commit") throw await this.lost("UNKNOWN_OUTCOME", "The reply to COMMIT was lost.");
    if (fate === "late commit") {
      this.server.performLate(request, this.random.between(1, 200)).then(
        () => this.note(-1, "late", request),
        (error: unknown) => this.note(-1, `late, refused: ${codeOf(error)}`, request),
      );
      throw await this.lost("UNKNOWN_OUTCOME", "The reply to COMMIT was lost.");
    }
    const answer = await this.server.perform(request);
    if (fate === "done twice") await this.server.perform(request).catch(() => undefined);
    this.spring(request.process, request.method, "done");
    if (fate === "lost reply") throw await this.lost("UNKNOWN_OUTCOME", "The reply to COMMIT was lost.");
    await this.pass(fate === "slow reply" ? this.random.between(20, 400) : this.random.between(0.1, 2));
    if (request.process.isCutOff && !isRead(request)) throw await this.lost("UNKNOWN_OUTCOME", "The reply was lost.");
    return answer;
  }

  private async lost(code: "DATABASE_AWAY" | "UNKNOWN_OUTCOME", message: string): Promise<HoldfastError> {
    await this.pass(this.random.between(0.1, 20));
    return new HoldfastError(code, message);
  }

  private async pass(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.time.after(ms, resolve));
  }

  /** A broken queue: each message of a batch commits by itself. */
  private async scatter(request: BookRequest): Promise<unknown> {
    const [fence, batch] = request.args as Parameters<QueueBook["append"]>;
    const parts = batch.messages.map(async (message) => {
      await this.pass(this.random.between(0, 5));
      return await this.server.perform({ ...request, args: [fence, { ...batch, messages: [message] }] });
    });
    return await this.answerOf(
      request,
      Promise.all(parts).then((added) => added.length),
    );
  }

  private spring(process: SimProcess, method: Method, step: DeathTrap["step"]): void {
    if (process.trap?.method !== method || process.trap.step !== step || !process.isAlive) return;
    this.coverage.countIfListed("crash", `${method} ${step}`);
    process.trap = null;
    this.listener.trapped(process);
  }

  private noteClaim(request: BookRequest): void {
    const { claim, wishes } = claimOrderOf(request);
    const epoch = fenceOf(request)?.epoch ?? 0n;
    for (const { lane } of wishes) this.claimsSent.set(`${epoch}/${claim}/${lane}`, request.id);
  }

  private claimsMeant(process: SimProcess, method: Method, args: readonly unknown[]): ReadonlyMap<number, number> {
    if (method !== "settle") return new Map();
    const epoch = fenceOf({ args } as BookRequest)?.epoch ?? 0n;
    return new Map(
      settlementsOf({ args }).map(({ lane, claim }) => [
        lane,
        this.claimsSent.get(`${epoch}/${claim}/${lane}`) ?? -process.node - 1,
      ]),
    );
  }

  private note(who: number, what: string, request: BookRequest): void {
    this.trace.note(this.time.now, who, `${what} ${request.id}`, request.args.slice(1));
  }
}

function codeOf(error: unknown): string {
  return error instanceof HoldfastError || error instanceof StaleEpochError ? error.code : String(error);
}

async function never(): Promise<never> {
  return await new Promise<never>(() => undefined);
}
