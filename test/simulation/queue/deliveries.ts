import type { Handler, Message, Produced } from "../../../src/queue/message.js";
import type { Random } from "../random.js";
import type { Coverage } from "./coverage.js";
import type { MessagePlan } from "./plans.js";
import type { SimProcess } from "./process.js";
import type { SimTerm } from "./term.js";

/** What becomes of one call of a handler. */
export interface Call {
  readonly term: SimTerm;
  readonly message: Message;
  readonly plan: MessagePlan;
}

export interface CallObserver {
  /** Null where it is no message that anybody sent. */
  began(process: SimProcess, message: Message): Call | null;
  /** The handler has settled; "worked" is told before the queue hears of it. */
  ended(call: Call, outcome: "worked" | "failed"): void;
  felled(call: Call): void;
}

/** The handlers of a process: they do with each message what was planned for it. */
export class Deliveries {
  private readonly process: SimProcess;
  private readonly random: Random;
  private readonly coverage: Coverage;
  private readonly observer: CallObserver;
  private readonly habits: { readonly handlerMs: number; readonly timeoutMs: number };

  constructor(
    process: SimProcess,
    around: {
      readonly random: Random;
      readonly coverage: Coverage;
      readonly observer: CallObserver;
      readonly habits: { readonly handlerMs: number; readonly timeoutMs: number };
    },
  ) {
    this.process = process;
    this.random = around.random;
    this.coverage = around.coverage;
    this.observer = around.observer;
    this.habits = around.habits;
  }

  readonly handler: Handler = async (message, context) => {
    if (!this.process.isAlive) return await new Promise<never>(() => undefined);
    const call = this.observer.began(this.process, message);
    if (call === null) return undefined;
    try {
      await this.work(call, context.signal);
    } catch (error) {
      this.observer.ended(call, "failed");
      throw error;
    }
    this.coverage.count("handler", "done");
    this.observer.ended(call, "worked");
    return this.productOf(call.plan);
  };

  /** Ends when the message is done; whether that was in time, the queue decides. */
  private async work(call: Call, signal: AbortSignal): Promise<void> {
    const { plan, message } = call;
    if (plan.kind === "poison") return await this.fell(call);
    await this.spend(this.random.chance(0.3) ? 0 : this.random.between(0, this.habits.handlerMs));
    const fails = plan.kind === "neverWorks" || (plan.kind !== "works" && message.attempt <= plan.fails);
    if (!fails) return;
    if (plan.kind === "hangs") {
      this.coverage.count("handler", "hung until its signal");
      await new Promise<void>((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to end")), { once: true });
        if (signal.aborted) reject(new Error("told to end before it began"));
      });
    }
    if (plan.kind === "takesTooLong") {
      this.coverage.count("handler", "took too long");
      await this.spend(this.habits.timeoutMs + this.random.between(1, 100));
      return;
    }
    this.coverage.count("handler", "threw");
    throw new Error(`${plan.name} does not work`);
  }

  /** The process goes down with this message in its hands. */
  private async fell(call: Call): Promise<never> {
    await this.spend(this.random.between(0, this.habits.handlerMs));
    this.coverage.count("handler", "felled its process");
    this.observer.felled(call);
    return await new Promise<never>(() => undefined);
  }

  private async spend(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => this.process.after(ms, resolve));
  }

  private productOf(plan: MessagePlan): readonly Produced[] | undefined {
    if (plan.produces.length === 0) return undefined;
    this.coverage.count("handler", "produced");
    return plan.produces.map(({ stage, lane, name, key }) => ({
      stage,
      lane,
      body: name,
      ...(key === null ? {} : { key }),
    }));
  }
}
