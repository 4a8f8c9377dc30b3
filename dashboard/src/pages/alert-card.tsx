import type { Alert, Notified } from "../api/alert-answers.js";
import { act } from "../api/client.js";
import { Action } from "../parts/action.js";
import { Name } from "../parts/name.js";
import { Since, Time } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { formatCount } from "../time/format.js";
import { SeverityBadge, StateBadge } from "./alert-marks.js";

interface AlertCardProps {
  readonly alert: Alert;
  readonly onDone: () => void;
}

/** One alert: what it says, since when, with which value, and who knows of it. */
export function AlertCard({ alert, onDone }: AlertCardProps) {
  const { name, state, severity, labels, summary, condition, value } = alert;
  // The severity and the rule are said already.
  const shown = Object.entries(labels).filter(([label]) => label !== "severity" && label !== "alertname");
  return (
    <article class={`alert alert-${state}`} aria-label={visible(name)}>
      <div class="alert-head">
        <StateBadge state={state} />
        <strong>
          <Name of={name} />
        </strong>
        <SeverityBadge severity={severity} />
        <span class="alert-buttons">
          <AlertActions alert={alert} onDone={onDone} />
        </span>
      </div>
      {summary === "" ? null : (
        <p>
          <Name of={summary} />
        </p>
      )}
      <p class="muted">
        <strong>{value === null ? "no number" : shownValue(value)}</strong> by <Name of={condition} mono />
      </p>
      {shown.length === 0 ? null : (
        <ul class="chips" aria-label="Labels">
          {shown.map(([label, text]) => (
            <li key={label}>
              <Name of={`${label} = ${text}`} />
            </li>
          ))}
        </ul>
      )}
      <p class="alert-past">
        <Past alert={alert} />
      </p>
      {alert.notified.length === 0 ? null : <Told of={alert.notified} />}
    </article>
  );
}

/** As many digits as say something. */
function shownValue(value: number): string {
  return Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(4)));
}

function Past({ alert }: { readonly alert: Alert }) {
  const { active_since: since, fired_at: fired, acknowledged_at: known, resolved_at: over } = alert;
  return (
    <>
      {over === null ? (
        <span>
          holds for <Since at={since} />
        </span>
      ) : (
        <span>
          since <Time at={since} />
        </span>
      )}
      {fired === null ? null : (
        <span>
          fired <Time at={fired} />
        </span>
      )}
      {known === null ? null : (
        <span>
          acknowledged <Time at={known} /> by <Name of={alert.acknowledged_by ?? "nobody"} />
        </span>
      )}
      {over === null ? null : (
        <span>
          resolved <Time at={over} />
          {alert.resolved_by === null ? "" : <> by {<Name of={alert.resolved_by} />}</>}
        </span>
      )}
    </>
  );
}

const outcomes: Readonly<Record<Notified["outcome"], string>> = {
  sent: "told",
  waiting: "to be told",
  given_up: "given up on telling",
};

function Told({ of }: { readonly of: readonly Notified[] }) {
  return (
    <ul class="alert-told" aria-label="Who was told">
      {of.map(({ target, change, at, outcome, attempts, problem }, index) => (
        <li key={index} class={outcome === "given_up" ? "row-error" : ""}>
          <Time at={at} /> {outcomes[outcome]} <Name of={target} />: {change}
          {attempts > 1 ? `, at attempt ${attempts}` : ""}
          {problem === null ? null : (
            <>
              , <Name of={problem} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function AlertActions({ alert, onDone }: AlertCardProps) {
  const name = visible(alert.name);
  const run = (verb: "acknowledge" | "resolve", done: string) => async (): Promise<string> => {
    await act<Alert>("POST", `/alerts/${encodeURIComponent(alert.id)}/${verb}`);
    onDone();
    return `${name} is ${done}.`;
  };
  if (alert.state !== "firing" && alert.state !== "acknowledged") return null;
  return (
    <>
      {alert.state === "firing" ? (
        <Action
          permission="control"
          verb="Acknowledge"
          label={`Acknowledge ${name}`}
          title={`Acknowledge ${name}`}
          says={
            <p>
              It says that you look after it, and whoever was told of it hears so. It goes on until its condition does
              not hold.
            </p>
          }
          run={run("acknowledge", "acknowledged")}
        />
      ) : null}
      <Action
        permission="control"
        verb="Resolve"
        label={`Resolve ${name}`}
        title={`Resolve ${name}`}
        says={
          <p>
            It is over, and whoever was told of it hears so. It stays quiet until its condition has not held once, and
            comes to hold again.
          </p>
        }
        run={run("resolve", "resolved")}
      />
    </>
  );
}
