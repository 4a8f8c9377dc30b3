import type { Alert, AlertRule } from "../api/alert-answers.js";
import { type Page, usePaged } from "../api/paged.js";
import { useReading } from "../api/reading.js";
import { Name } from "../parts/name.js";
import { Empty, ErrorNote, Freshness, Loading } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { formatDuration } from "../time/format.js";
import { AlertCard } from "./alert-card.js";
import { StateBadge } from "./alert-marks.js";
import { TestTargets } from "./alert-test.js";

/** What is wrong now, what was, and what would be told. */
export function Alerts() {
  const alerts = usePaged<Alert>("/alerts");
  const rules = useReading<Page<AlertRule>>("/alerts/rules", { limit: 1000 });
  const now = alerts.items?.filter(({ state }) => state !== "resolved");
  const over = alerts.items?.filter(({ state }) => state === "resolved") ?? [];
  const again = (): void => {
    alerts.again();
    rules.again();
  };
  return (
    <>
      <PageHead title="Alerts" says="Conditions over the metrics of all nodes, and whoever was told that they hold.">
        <TestTargets />
      </PageHead>
      <ErrorNote error={alerts.error ?? rules.error} />
      <Panel title="Now" aside={<Freshness reading={alerts} />} flush>
        {now === undefined ? <Loading /> : null}
        {now?.length === 0 ? <Empty title="All quiet">No condition holds.</Empty> : null}
        {now?.map((alert) => (
          <AlertCard key={alert.id} alert={alert} onDone={again} />
        ))}
      </Panel>
      {over.length === 0 ? null : (
        <Panel title="Over" flush>
          {over.map((alert) => (
            <AlertCard key={alert.id} alert={alert} onDone={again} />
          ))}
        </Panel>
      )}
      <Pager paged={alerts} byName />
      <Panel title="Rules" flush>
        <Rules rules={rules.data?.items} />
      </Panel>
    </>
  );
}

function Rules({ rules }: { readonly rules: readonly AlertRule[] | undefined }) {
  return (
    <Table
      caption="The rules"
      rows={rules}
      rowKey={({ name }) => name}
      empty="No rules"
      emptySays="They are named in the settings as [[alerts]]."
      columns={[
        { title: "Rule", wide: true, cell: (rule) => <RuleName rule={rule} /> },
        { title: "State", cell: ({ state }) => <StateBadge state={state} /> },
        { title: "Severity", cell: ({ severity }) => <Name of={severity} /> },
        {
          title: "After",
          align: "end",
          cell: ({ for_seconds: seconds }) => (seconds === 0 ? "at once" : formatDuration(seconds * 1000)),
        },
        { title: "Told to", cell: ({ notify }) => <Targets of={notify} /> },
        {
          title: "From",
          cell: ({ origin }) => <span class="muted">{origin === "default" ? "built in" : "settings"}</span>,
        },
      ]}
    />
  );
}

function RuleName({ rule: { name, condition } }: { readonly rule: AlertRule }) {
  return (
    <>
      <Name of={name} />
      <div class="faint">
        <Name of={condition} mono />
      </div>
    </>
  );
}

function Targets({ of }: { readonly of: readonly string[] }) {
  return (
    <ul class="chips">
      {of.map((target) => (
        <li key={target}>
          <Name of={target} />
        </li>
      ))}
    </ul>
  );
}
