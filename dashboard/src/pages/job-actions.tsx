import { act } from "../api/client.js";
import type { ChangedJob, Job } from "../api/job-answers.js";
import { Action } from "../parts/action.js";
import { Name } from "../parts/name.js";

const ended: readonly Job["state"][] = ["failed", "dead", "cancelled"];
const open: readonly Job["state"][] = ["queued", "leased"];

/** Cancel what is not finished; queue again what ended badly. */
export function JobActions({ job, onDone }: { readonly job: Job; readonly onDone: () => void }) {
  const { job_id: id, op, state } = job;
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  if (open.includes(state)) {
    const cancel = async (): Promise<string> => {
      await act<ChangedJob>("DELETE", path);
      onDone();
      return `Job ${id} is cancelled.`;
    };
    return (
      <Action
        permission="control"
        verb="Cancel job"
        label={`Cancel job ${id}`}
        title={`Cancel job ${id}`}
        danger
        dismiss="Keep it"
        says={
          <p>
            Nobody gets <Name of={op} /> any more
            {state === "leased" ? ", and the result of the agent that works on it now is not accepted" : ""}. It can be
            queued again later.
          </p>
        }
        run={cancel}
      />
    );
  }
  if (!ended.includes(state)) return null;
  const redrive = async (): Promise<string> => {
    await act<ChangedJob>("POST", `${path}/redrive`);
    onDone();
    return `Job ${id} is queued again.`;
  };
  return (
    <Action
      permission="control"
      verb="Redrive"
      label={`Redrive job ${id}`}
      title={`Redrive job ${id}`}
      says={
        <p>
          <Name of={op} /> is queued again with its payload as it was, and has all its {job.max_attempts} attempts.
        </p>
      }
      run={redrive}
    />
  );
}
