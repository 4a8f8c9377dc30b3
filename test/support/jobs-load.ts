import { JobsClient } from "./jobs-client.js";
import type { JobsListener } from "./jobs-listener.js";

export interface JobsLoadShape {
  readonly jobs: number;
  /** How long an operation takes on average. */
  readonly taskMs: number;
  /** So many wait or run at a time, at the most. */
  readonly backlog: number;
}

const batch = 100;
/** Each of so many fails at its first attempt. */
const failsEach = 40;

/** Submits jobs over a cluster whose leaders die, batch by batch, each until it is answered, as fast as they are worked off. */
export async function submitAll(
  urls: readonly string[],
  listener: JobsListener,
  shape: JobsLoadShape,
): Promise<readonly string[]> {
  const client = new JobsClient(urls);
  const acknowledged: string[] = [];
  while (acknowledged.length < shape.jobs) {
    const first = acknowledged.length;
    await listener.until("there is room for more jobs", () => first - listener.succeeded.size < shape.backlog);
    const jobs = Array.from({ length: Math.min(batch, shape.jobs - first) }, (_, index) => {
      const n = first + index;
      // Between half and one and a half of the average, always the same for the same job.
      const ms = Math.round(shape.taskMs * (0.5 + ((n * 7_919) % 1_000) / 1_000));
      return { job_id: `job-${n}`, op: "work", payload: { n, ms, fails: n % failsEach === 0 } };
    });
    const { status, body } = await client.post("/v1/jobs", { jobs });
    const answers = (body.jobs ?? []) as readonly { readonly job_id?: string; readonly error?: string }[];
    const taken = answers.filter(({ error }) => error === undefined).map(({ job_id: id }) => id ?? "");
    if (taken.length !== jobs.length) throw new Error(`POST /v1/jobs answered ${status} ${JSON.stringify(body)}`);
    acknowledged.push(...taken);
  }
  return acknowledged;
}
