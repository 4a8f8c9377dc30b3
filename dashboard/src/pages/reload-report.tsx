import type { ApiError } from "../api/api-error.js";
import type { Reload } from "../api/message-answers.js";
import { Badge } from "../parts/badge.js";
import { Facts } from "../parts/facts.js";
import { Name } from "../parts/name.js";
import { Panel } from "../parts/panel.js";

/** What a reload has changed, or what it would. */
export function ReloadReport({ report }: { readonly report: Reload }) {
  const { dry_run: isTry, changed, added, removed, warnings, version, hash } = report;
  return (
    <Panel
      title={isTry ? "A reload would be this" : "The reload"}
      aside={changed ? <Badge tone="info">another folder</Badge> : <Badge>the same folder</Badge>}
    >
      <Facts
        facts={[
          ["Version", version],
          ["Folder", <code title={hash}>{hash.slice(0, 12)}</code>],
          ["Added", added.length === 0 ? "nothing" : <Names of={added} />],
          ["Removed", removed.length === 0 ? "nothing" : <Names of={removed} />],
          ["Warnings", warnings.length === 0 ? null : <Names of={warnings} />],
        ]}
      />
    </Panel>
  );
}

function Names({ of }: { readonly of: readonly string[] }) {
  return (
    <>
      {of.map((name) => (
        <div key={name}>
          <Name of={name} />
        </div>
      ))}
    </>
  );
}

/** A folder with mistakes is refused with a line for each. */
export function problemsOf({ details }: ApiError): readonly string[] {
  if (typeof details !== "object" || details === null || !("problems" in details)) return [];
  const { problems } = details;
  return Array.isArray(problems) ? problems.map((problem) => wordsOf(problem)) : [];
}

function wordsOf(problem: unknown): string {
  return typeof problem === "string" ? problem : JSON.stringify(problem);
}
