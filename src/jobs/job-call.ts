import type {
  CancellationAnswer,
  GiveBackAnswer,
  HeartbeatAnswer,
  JobAnswer,
  JobOrder,
  LeaseAnswer,
  RedriveAnswer,
  RemovalAnswer,
  RenewalAnswer,
  ResultAnswer,
  Submission,
  SubmissionAnswer,
} from "../store/job-orders.js";

/** What a caller asks for at a time: it is answered as one. */
export interface JobCall {
  readonly orders: readonly JobOrder[];
  readonly resolve: (answers: readonly JobAnswer[]) => void;
  readonly reject: (error: unknown) => void;
}

interface AnswersByKind {
  readonly submit: SubmissionAnswer;
  readonly lease: LeaseAnswer;
  readonly renew: RenewalAnswer;
  readonly result: ResultAnswer;
  readonly give_back: GiveBackAnswer;
  readonly cancel: CancellationAnswer;
  readonly redrive: RedriveAnswer;
  readonly heartbeat: HeartbeatAnswer;
  readonly remove_agent: RemovalAnswer;
}

export type AnswerTo<Order extends JobOrder> = AnswersByKind[Order["kind"]];

export function isReadySubmission(order: JobOrder): order is Submission {
  return order.kind === "submit" && order.runAt === null;
}

/** A job whose id was made for this very order is there only because it was carried out before, and the answer was lost. */
export function asMade(order: Submission | undefined, answer: SubmissionAnswer): SubmissionAnswer {
  return order?.hasNewId === true && answer.jobId === order.jobId ? { ...answer, kind: "created" } : answer;
}

/** No two clocks of a cluster are further apart. Nearer than that, the cost is a look in vain. */
const clocksDifferMs = 60_000;

/**
 * The jobs that came in with these orders and that nobody has taken yet. An order that was refused has no answer; one that had
 * to be sent twice may find the job that it made itself.
 */
export function leftOver(
  orders: readonly JobOrder[],
  answers: readonly (JobAnswer | null)[],
  now: number,
): readonly Submission[] {
  const created = orders.filter(
    // Whether its time has come only the database knows.
    (order, index): order is Submission =>
      order.kind === "submit" && (order.runAt ?? 0) < now + clocksDifferMs && isQueued(answers[index] ?? null),
  );
  if (created.length === 0) return created;
  const gone = new Set<string>();
  for (const answer of answers) {
    if (answer?.kind === "leased") for (const { jobId } of answer.tasks) gone.add(jobId);
  }
  return created.filter(({ jobId }) => !gone.has(jobId));
}

function isQueued(answer: JobAnswer | null): boolean {
  return answer?.kind === "created" || (answer?.kind === "existing" && answer.state === "queued");
}

/** Whether jobs may be ready afterwards for whoever they suit. */
export function freesJobs({ kind }: JobOrder): boolean {
  return kind === "give_back" || kind === "redrive" || kind === "remove_agent";
}
