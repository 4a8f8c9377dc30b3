import type { Epoch, NodeId, Role } from "../../../src/election/core/names.js";
import { NotLeaderError } from "../../../src/errors.js";
import type { FenceToken } from "../../../src/store/contract.js";
import type { SimProcess } from "./process.js";

/** One stretch of leadership of one process. */
export class SimTerm {
  readonly epoch: bigint;
  readonly process: SimProcess;
  readonly controller = new AbortController();
  readonly fence: FenceToken;
  /** Another has led since, whether or not this one knows. */
  isDeposed = false;
  /** It believes that it leads though it does not: what G3 assumes does not hold, and the fence has to do. */
  isUnaware = false;
  isShut = false;
  /** The function that leads has returned, and nothing of it may be at work. */
  hasEnded = false;
  private readonly opened: (() => void)[] = [];
  private readonly whileShut = new WeakSet<NotLeaderError>();

  constructor(epoch: bigint, process: SimProcess) {
    this.epoch = epoch;
    this.process = process;
    const nodeId = `node-${process.node}` as NodeId;
    this.fence = {
      role: "scheduler" as Role,
      epoch: epoch as Epoch,
      holder: { nodeId, incarnation: `${process.node}/${epoch}`, url: null } as unknown as FenceToken["holder"],
    };
  }

  /** What a gate says at this very moment. It stays open for what drains. */
  get mayAct(): boolean {
    return !this.isShut && (!this.isDeposed || this.isUnaware);
  }

  readonly require = (): void => {
    if (this.mayAct) return;
    const refusal = new NotLeaderError(`Epoch ${this.epoch} does not lead.`);
    this.whileShut.add(refusal);
    throw refusal;
  };

  /** As a gate does: each refusal counts once. */
  excuses(refusal: NotLeaderError): boolean {
    return this.whileShut.delete(refusal);
  }

  /** New work begins only while the term goes on. */
  get isLeader(): boolean {
    return this.mayAct && !this.controller.signal.aborted;
  }

  open(): void {
    this.isShut = false;
    for (const resolve of this.opened.splice(0)) resolve();
  }

  async gateOpened(): Promise<void> {
    while (!this.controller.signal.aborted && !this.mayAct) {
      await new Promise<void>((resolve) => this.opened.push(resolve));
    }
  }

  /** Leadership is over, as far as this process knows. */
  end(): void {
    this.controller.abort(new NotLeaderError(`Epoch ${this.epoch} is over.`));
    this.open();
  }
}
