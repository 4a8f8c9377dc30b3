import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { within } from "../../src/lifecycle/within.js";
import type { Handing, ReportedTask } from "./jobs-history.js";

const program = fileURLToPath(new URL("./jobs-agent.mjs", import.meta.url));
const deadlineMs = 60_000;

type Lease = readonly [jobId: string, jobEpoch: number];

interface Account {
  readonly runs: readonly (readonly [...Lease, "succeeded" | "failed" | "dropped"])[];
  readonly stale: readonly Lease[];
  readonly refused: readonly Lease[];
  readonly counts: Readonly<Record<"leased" | "accepted" | "stale" | "refused" | "waitingResults", number>>;
}

/** What agents were handed, and what they heard of their results. */
export interface AgentAccount {
  readonly handings: readonly Handing[];
  readonly reports: readonly ReportedTask[];
}

/** An agent of the library, in a process of its own. Disposing kills it. */
class JobsAgent implements AsyncDisposable {
  readonly name: string;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.child = child;
    this.exited = once(child, "exit");
  }

  /** Resolves when a leader has registered it. */
  static async start(name: string, urls: readonly string[], concurrency: number): Promise<JobsAgent> {
    const agent = new JobsAgent(name, fork(program, [JSON.stringify({ name, urls, concurrency })]));
    try {
      await agent.said("ready");
      return agent;
    } catch (error) {
      await agent[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Lets it finish and report what runs, and tells what it was handed and what it heard. */
  async stop(): Promise<AgentAccount> {
    const account = this.said<Account>("account");
    this.child.send("stop");
    return accountOf(this.name, await account);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  private async said<Message>(kind: string): Promise<Message> {
    const heard = new Promise<Message>((resolve, reject) => {
      this.child.on("message", (message: { readonly kind: string }) => {
        if (message.kind === kind) resolve(message as Message);
      });
      void this.exited.then(() => reject(new Error(`Agent ${this.name} ended before it said "${kind}".`)));
    });
    return await within(deadlineMs, heard, () => {
      throw new Error(`Agent ${this.name} did not say "${kind}".`);
    });
  }
}

/** Several of them. Disposing kills them all. */
export class JobsAgents implements AsyncDisposable {
  private readonly agents: readonly JobsAgent[];

  private constructor(agents: readonly JobsAgent[]) {
    this.agents = agents;
  }

  static async start(count: number, urls: readonly string[], concurrency: number): Promise<JobsAgents> {
    const names = Array.from({ length: count }, (_, n) => `agent-${n + 1}`);
    const started = await Promise.allSettled(names.map((name) => JobsAgent.start(name, urls, concurrency)));
    const agents = new JobsAgents(started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
    const failed = started.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
    if (failed === undefined) return agents;
    await agents[Symbol.asyncDispose]();
    throw failed.reason;
  }

  async stop(): Promise<AgentAccount> {
    const accounts = await Promise.all(this.agents.map((agent) => agent.stop()));
    return {
      handings: accounts.flatMap(({ handings }) => handings),
      reports: accounts.flatMap(({ reports }) => reports),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent[Symbol.asyncDispose]()));
  }
}

/** Each result that it reported was accepted unless it says otherwise, and its own count agrees. */
function accountOf(agent: string, { runs, stale, refused, counts }: Account): AgentAccount {
  const keyOf = ([jobId, jobEpoch]: readonly [string, number, ...unknown[]]): string => `${jobId} ${jobEpoch}`;
  const staleKeys = new Set(stale.map(keyOf));
  const refusedKeys = new Set(refused.map(keyOf));
  const reports = runs.flatMap((run): ReportedTask[] => {
    const [jobId, jobEpoch, status] = run;
    if (status === "dropped") return [];
    const key = keyOf(run);
    const answer = staleKeys.has(key) ? "stale" : refusedKeys.has(key) ? "refused" : "accepted";
    return [{ agent, jobId, jobEpoch, status, answer }];
  });
  const accepted = reports.filter(({ answer }) => answer === "accepted").length;
  if (accepted !== counts.accepted || counts.waitingResults > 0) {
    throw new Error(`Agent ${agent} ran ${accepted} tasks that count, and says ${JSON.stringify(counts)}.`);
  }
  return { handings: runs.map(([jobId, jobEpoch]) => ({ agent, jobId, jobEpoch })), reports };
}
