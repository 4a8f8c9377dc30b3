import { useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { act, withQuery } from "../api/client.js";
import type { ConfigVersion, NodeConfig, ReferenceSet, Reload } from "../api/message-answers.js";
import { useReading } from "../api/reading.js";
import { useMay } from "../api/session.js";
import { Action } from "../parts/action.js";
import { Badge } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { NodeName } from "../parts/node-name.js";
import { ErrorNote, Freshness, Loading, Note } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Ago } from "../parts/when.js";
import { formatCount } from "../time/format.js";
import { problemsOf, ReloadReport } from "./reload-report.js";

/** Which node runs which configuration, and how another one comes to run. */
export function Config() {
  const version = useReading<ConfigVersion>("/config/version");
  const [report, setReport] = useState<Reload>();
  const [error, setError] = useState<ApiError>();
  const { data } = version;
  const reload = async (dryRun: boolean): Promise<Reload> => {
    setError(undefined);
    setReport(undefined);
    const done = await act<Reload>("POST", withQuery("/config/reload", { dry_run: dryRun }));
    setReport(done);
    version.again();
    return done;
  };
  return (
    <>
      <PageHead title="Configuration" says="The engine's folder as each node runs it.">
        <Buttons
          onTry={() => void reload(true).catch((thrown: unknown) => setError(asApiError(thrown)))}
          onReload={async () => `Version ${(await reload(false)).version} runs.`}
        />
      </PageHead>
      <ErrorNote error={version.error} />
      {error === undefined ? null : <Problems error={error} />}
      {report === undefined ? null : <ReloadReport report={report} />}
      {data === undefined && version.error === undefined ? <Loading /> : null}
      {data === undefined ? null : (
        <>
          <Panel title={`Version ${data.version}`} aside={<Converged version={data} />} flush>
            <NodeConfigs nodes={data.nodes} />
          </Panel>
          {data.references.length === 0 ? null : (
            <Panel title="Reference sets" aside={<Freshness reading={version} />} flush>
              <References sets={data.references} />
            </Panel>
          )}
        </>
      )}
    </>
  );
}

function Buttons({ onTry, onReload }: { readonly onTry: () => void; readonly onReload: () => Promise<string> }) {
  if (!useMay("config")) return null;
  return (
    <>
      <button type="button" class="button" onClick={onTry}>
        Dry run
      </button>
      <Action
        permission="config"
        verb="Reload"
        title="Reload the configuration"
        says={
          <p>
            The leader loads its folder, and the other nodes load theirs. Connections that were added are opened, those
            that were removed are closed. Where anything in it is wrong, nothing is changed. A dry run tells what it
            would be.
          </p>
        }
        run={onReload}
      />
    </>
  );
}

function Problems({ error }: { readonly error: ApiError }) {
  const problems = problemsOf(error);
  return (
    <>
      <ErrorNote error={error} />
      {problems.length === 0 ? null : (
        <Note>
          <ul>
            {problems.map((problem) => (
              <li key={problem}>
                <Name of={problem} mono />
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  );
}

function Converged({ version: { converged } }: { readonly version: ConfigVersion }) {
  return converged ? <Badge tone="good">every node runs it</Badge> : <Badge tone="bad">nodes differ</Badge>;
}

function NodeConfigs({ nodes }: { readonly nodes: readonly NodeConfig[] }) {
  return (
    <Table
      caption="What each node runs"
      rows={nodes}
      rowKey={({ node_id: id }) => id}
      empty="No node has a graph"
      emptySays="It is a folder of modules, and is given to a node by holdfast serve --config."
      columns={[
        { title: "Node", cell: ({ node_id: id }) => <NodeName id={id} /> },
        { title: "Runs version", align: "end", cell: ({ version }) => version },
        { title: "Folder", cell: ({ hash }) => <code title={hash}>{hash.slice(0, 12)}</code> },
        {
          title: "Converged",
          wide: true,
          cell: ({ converged, error }) => (
            <>
              {converged ? <Badge tone="good">yes</Badge> : <Badge tone="bad">no</Badge>}
              {error === null ? null : (
                <div class="row-error">
                  <Name of={error} />
                </div>
              )}
            </>
          ),
        },
      ]}
    />
  );
}

function References({ sets }: { readonly sets: readonly ReferenceSet[] }) {
  return (
    <Table
      caption="Reference sets"
      rows={sets}
      rowKey={({ name }) => name}
      empty="None"
      columns={[
        { title: "Set", cell: ({ name }) => <Name of={name} /> },
        { title: "Version", align: "end", cell: ({ version }) => version ?? "–" },
        { title: "Rows", align: "end", cell: ({ rows }) => (rows === null ? "–" : formatCount(rows)) },
        { title: "Published", cell: ({ published_at: at }) => <Ago at={at} /> },
        {
          title: "Last failure",
          wide: true,
          cell: ({ error, failed_at: at }) =>
            error === null ? (
              <span class="faint">–</span>
            ) : (
              <>
                <Ago at={at} />
                <div class="row-error">
                  <Name of={error} />
                </div>
              </>
            ),
        },
      ]}
    />
  );
}
