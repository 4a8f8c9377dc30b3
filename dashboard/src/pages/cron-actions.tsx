import { act } from "../api/client.js";
import type { Cron, Triggered } from "../api/job-answers.js";
import { Action } from "../parts/action.js";
import { Badge } from "../parts/badge.js";

export function CronState({ cron }: { readonly cron: Cron }) {
  if (cron.gone_at !== null) return <Badge>gone</Badge>;
  return cron.paused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">on</Badge>;
}

export function CronActions({ cron, onDone }: { readonly cron: Cron; readonly onDone: () => void }) {
  const { name, op } = cron;
  const path = `/v1/crons/${encodeURIComponent(name)}`;
  if (cron.gone_at !== null) return null;
  const trigger = async (): Promise<string> => {
    const { job_id: id } = await act<Triggered>("POST", `${path}/trigger`);
    onDone();
    return `Job ${id} of ${name} is submitted.`;
  };
  const steer = (verb: "pause" | "resume", done: string) => async (): Promise<string> => {
    await act<Cron>("POST", `${path}/${verb}`);
    onDone();
    return `${name} ${done}.`;
  };
  return (
    <>
      <Action
        permission="control"
        verb="Trigger"
        label={`Trigger ${name}`}
        title={`Trigger ${name} now`}
        says={<p>A job {op} is submitted now, beside the schedule. The next tick comes as if nothing had happened.</p>}
        run={trigger}
      />
      {cron.paused ? (
        <Action
          permission="control"
          verb="Resume"
          label={`Resume ${name}`}
          title={`Resume ${name}`}
          says={<p>It begins anew, now: ticks of the time in which it was paused are not made up for.</p>}
          run={steer("resume", "goes on")}
        />
      ) : (
        <Action
          permission="control"
          verb="Pause"
          label={`Pause ${name}`}
          title={`Pause ${name}`}
          says={<p>It submits no jobs until somebody resumes it, whoever leads. Jobs that are there already go on.</p>}
          run={steer("pause", "is paused")}
        />
      )}
    </>
  );
}
