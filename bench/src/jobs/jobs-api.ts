import { Agent, type IncomingMessage, request } from "node:http";

export interface Task {
  readonly job_id: string;
  readonly job_epoch: number;
  readonly payload: JobPayload;
}

export interface Lease {
  readonly lease_id: string;
  readonly tasks: readonly Task[];
}

export interface JobPayload {
  readonly number: number;
  readonly body: string;
}

export interface LeaseWish {
  readonly agent: string;
  readonly namespace: string;
  readonly max_tasks: number;
  readonly timeout_ms: number;
}

/** The most tasks of a lease. */
export const mostTasks = 64;

export class JobsRefusal extends Error {
  readonly status: number;

  constructor(path: string, status: number, said: string) {
    super(`POST ${path}: ${status} ${said.slice(0, 500)}`);
    this.status = status;
  }
}

/** The jobs of a node as any program meets them: plain HTTP over connections that are kept, and no code of Holdfast's. */
export class JobsApi {
  private readonly base: string;
  private readonly connections = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

  constructor(base: string) {
    this.base = base;
  }

  async submit(
    jobs: readonly { readonly payload: JobPayload; readonly job_id?: string }[],
    namespace: string,
  ): Promise<void> {
    const body = { jobs: jobs.map((job) => ({ op: "bench", namespace, ...job })) };
    const answer = (await this.post("/v1/jobs", body)) as { readonly jobs: readonly { readonly state?: string }[] };
    for (const job of answer.jobs) if (job.state === undefined) throw new Error(`not taken in: ${JSON.stringify(job)}`);
  }

  /** Null where no work came. */
  async lease(wish: LeaseWish, signal?: AbortSignal): Promise<Lease | null> {
    return (await this.post("/v1/leases", wish, signal)) as Lease | null;
  }

  async succeed(agent: string, { lease_id, tasks }: Lease): Promise<void> {
    const results = tasks.map(({ job_id, job_epoch }) => ({ lease_id, job_id, job_epoch, status: "succeeded" }));
    const answer = (await this.post("/v1/results", { agent, results })) as {
      readonly results: readonly { readonly state?: string }[];
    };
    for (const result of answer.results) {
      if (result.state !== "succeeded") throw new Error(`a result was refused: ${JSON.stringify(result)}`);
    }
  }

  async beat(agent: string, namespace: string): Promise<void> {
    await this.post("/v1/agents/heartbeat", { agent, namespace, capabilities: [], tasks: 0 });
  }

  private async post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const text = Buffer.from(JSON.stringify(body));
    const headers = { "content-type": "application/json", "content-length": text.length };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { method: "POST", agent: this.connections, headers, ...(signal === undefined ? {} : { signal }) };
      request(`${this.base}${path}`, options, resolve).on("error", reject).end(text);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const said = Buffer.concat(chunks).toString();
    const { statusCode = 0 } = answer;
    if (statusCode < 200 || statusCode > 299) throw new JobsRefusal(path, statusCode, said);
    return said === "" ? null : (JSON.parse(said) as unknown);
  }
}
