import { HoldfastError } from "../errors.js";
import type { RequestBook } from "../store/contract.js";
import type { NodeRequest, RequestOutcome } from "./node-request.js";

/** What this node can be asked to do. */
export interface Actions {
  drain(): Promise<void>;
  resume(): void;
  stepDown(role: string, to: string | undefined): Promise<void>;
}

/** Acts on what others ask of this node, each request once, and answers in its row. */
export class RequestDesk {
  private readonly book: RequestBook;
  private readonly actions: Actions;
  private readonly trouble: (what: string, error: unknown) => void;
  private readonly taken = new Set<string>();

  constructor(book: RequestBook, actions: Actions, trouble: (what: string, error: unknown) => void) {
    this.book = book;
    this.actions = actions;
    this.trouble = trouble;
  }

  /** Somebody said that there is something to do; the next beat would find it, too. */
  async look(): Promise<void> {
    try {
      this.take(await this.book.pending());
    } catch (error) {
      this.trouble("cannot read what is asked of this node", error);
    }
  }

  take(requests: readonly NodeRequest[]): void {
    for (const request of requests) {
      if (this.taken.has(request.id)) continue;
      this.taken.add(request.id);
      this.handle(request).catch((error: unknown) => {
        // The answer did not reach the database: the next beat shows the request again, and doing it twice does no harm.
        this.taken.delete(request.id);
        this.trouble(`cannot answer request ${request.id}`, error);
      });
    }
  }

  private async handle(request: NodeRequest): Promise<void> {
    await this.book.answer(request.id, await this.act(request));
  }

  private async act(request: NodeRequest): Promise<RequestOutcome> {
    try {
      switch (request.kind) {
        case "drain":
          await this.actions.drain();
          break;
        case "resume":
          this.actions.resume();
          break;
        case "step_down":
          await this.actions.stepDown(request.role ?? "", request.to ?? undefined);
          break;
        default:
          return { kind: "refused", message: `This node does not know the request "${request.kind as string}".` };
      }
      return { kind: "done" };
    } catch (error) {
      if (error instanceof HoldfastError) return { kind: "refused", message: error.message };
      throw error;
    }
  }
}
