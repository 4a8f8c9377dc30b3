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
  /** Every request that this process has taken on, so that each is done once. They are few: people make them. */
  private readonly taken = new Map<string, Promise<RequestOutcome>>();
  /** Those whose answer did not reach the database. */
  private readonly unanswered = new Set<string>();

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
      const { id } = request;
      const isNew = !this.taken.has(id);
      if (isNew) this.taken.set(id, this.act(request));
      if (isNew || this.unanswered.delete(id)) this.answer(id);
    }
  }

  /** An answer that does not reach the database is given again when the next beat shows the request. It is not done again. */
  private answer(id: string): void {
    const answered = async (): Promise<void> => {
      const outcome = await this.taken.get(id);
      if (outcome !== undefined) await this.book.answer(id, outcome);
    };
    answered().catch((error: unknown) => {
      this.unanswered.add(id);
      this.trouble(`cannot answer request ${id}`, error);
    });
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
      this.trouble(`request ${request.id} failed`, error);
      return { kind: "refused", message: "The node failed to do it; its log says why." };
    }
  }
}
