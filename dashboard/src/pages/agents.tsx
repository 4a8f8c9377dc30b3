import { act } from "../api/client.js";
import { type Agent, type AgentState, agentStates } from "../api/job-answers.js";
import { usePaged } from "../api/paged.js";
import { hrefTo } from "../layout/route.js";
import { Action } from "../parts/action.js";
import { Badge, type Tone } from "../parts/badge.js";
import { ChoiceFilter, FilterBar, useFilter } from "../parts/filters.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Ago } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { formatCount } from "../time/format.js";

const tones: Readonly<Record<AgentState, Tone>> = { active: "good", stale: "warn", dead: "bad", deleted: "quiet" };

export function Agents() {
  const agents = usePaged<Agent>("/v1/agents", { state: useFilter("state") });
  return (
    <>
      <PageHead title="Agents" says="Processes that take jobs, and the workers among the nodes." />
      <ErrorNote error={agents.error} />
      <FilterBar>
        <ChoiceFilter name="state" label="State" options={agentStates} />
      </FilterBar>
      <Panel title="Agents" aside={<Freshness reading={agents} />} flush>
        <Table
          caption="Agents"
          rows={agents.items}
          rowKey={({ agent }) => agent}
          empty="No agents"
          emptySays="An agent is known from its first heartbeat on."
          columns={[
            { title: "Agent", wide: true, cell: (agent) => <AgentName agent={agent} /> },
            { title: "State", cell: ({ state }) => <Badge tone={tones[state]}>{state}</Badge> },
            { title: "Tasks", align: "end", cell: ({ tasks }) => formatCount(tasks) },
            { title: "Version", cell: ({ version }) => <span class="muted">{version ?? "–"}</span> },
            { title: "Heard of", cell: ({ last_heartbeat: at }) => <Ago at={at} /> },
            { title: "Known since", cell: ({ first_seen: at }) => <Ago at={at} /> },
            { title: "Actions", bare: true, cell: (agent) => <Remove agent={agent} onDone={agents.again} /> },
          ]}
        />
      </Panel>
      <Pager paged={agents} byName />
    </>
  );
}

function AgentName({ agent: { agent, namespace, capabilities } }: { readonly agent: Agent }) {
  return (
    <>
      <a href={hrefTo("/jobs", [], { agent })} title="Its jobs">
        <Name of={agent} />
      </a>
      {namespace === "default" ? null : (
        <span class="muted">
          {" "}
          in <Name of={namespace} />
        </span>
      )}
      {capabilities.length === 0 ? null : (
        <ul class="chips" aria-label="Capabilities">
          {capabilities.map((capability) => (
            <li key={capability}>
              <Name of={capability} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Remove({ agent, onDone }: { readonly agent: Agent; readonly onDone: () => void }) {
  if (agent.state === "deleted") return null;
  const shown = visible(agent.agent);
  const run = async (): Promise<string> => {
    await act("DELETE", `/v1/agents/${encodeURIComponent(agent.agent)}`);
    onDone();
    return `Agent ${shown} is deleted.`;
  };
  return (
    <Action
      permission="control"
      verb="Delete"
      label={`Delete agent ${shown}`}
      title={`Delete agent ${shown}`}
      danger
      says={
        <p>
          What it works on goes to others at once, and its results are not accepted any more. It gets no work until its
          process starts anew.
        </p>
      }
      run={run}
    />
  );
}
