import { useMemo, useState } from "preact/hooks";
import type { RoleLeader, Transition } from "../api/cluster.js";
import { setQuery } from "../layout/route.js";
import { useHistory } from "../live/history.js";
import { live, useLive } from "../live/live-stream.js";
import { ChoiceFilter, FilterBar, useFilter } from "../parts/filters.js";
import { Empty, ErrorNote } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Segments } from "../parts/segments.js";
import { Table } from "../parts/table.js";
import { transitionColumns } from "../parts/transition-columns.js";
import { useServerNow } from "../time/clock.js";
import { formatGap } from "../time/format.js";
import type { Frame } from "../timeline/geometry.js";
import { type RoleRow, spansOf } from "../timeline/spans.js";
import { Timeline } from "../timeline/timeline.js";

const zooms = [
  ["5m", "5 min", 300],
  ["1h", "1 h", 3600],
  ["1d", "1 d", 86_400],
  ["all", "All", 0],
] as const;

const rowsAtOnce = 50;

export function Leadership() {
  const asked = useFilter("zoom");
  const role = useFilter("role");
  const [zoom, , seconds] = zooms.find(([name]) => name === asked) ?? zooms[1];
  // Fixed for each zoom, so that time passing is no reason to read it all again.
  const since = useMemo(() => (seconds === 0 ? 0 : Date.now() / 1000 - seconds), [seconds]);
  const { transitions, loaded, error } = useHistory(since);
  const leaders = useStanding();
  const leaderlessSince = useLive((state) => state.leaderlessSince);
  // A pixel of a day is longer than ten seconds.
  const clock = useServerNow(seconds > 0 && seconds <= 3600 ? 1000 : 10_000);
  const now = Math.max(clock, (transitions[0]?.at ?? 0) * 1000);
  const rows = spansOf(transitions, leaders, leaderlessSince, now).filter((row) => role === "" || row.role === role);
  const frame: Frame = { from: seconds === 0 ? earliest(rows, now) : now - seconds * 1000, to: now };
  const roles = useMemo(
    () => [...new Set([...leaders, ...transitions].map((line) => line.role))].toSorted(),
    [leaders, transitions],
  );

  return (
    <>
      <PageHead title="Leadership" says="Who led which role, and every moment in which nobody did.">
        <FilterBar>
          <ChoiceFilter name="role" label="Role" all="All roles" options={roles} />
        </FilterBar>
      </PageHead>
      <ErrorNote error={error} />
      <Panel
        title="Failovers"
        aside={
          <Segments
            label="Zoom"
            options={zooms.map(([name, shown]) => [name, shown] as const)}
            chosen={zoom}
            onChoose={(name) => setQuery("zoom", name)}
          />
        }
      >
        {rows.length === 0 ? (
          <Empty title="No role is known yet" />
        ) : (
          <Timeline rows={rows} frame={frame} summary={<Summary rows={rows} frame={frame} />} />
        )}
      </Panel>
      <HistoryPanel
        transitions={loaded ? transitions.filter((line) => role === "" || line.role === role) : undefined}
      />
    </>
  );
}

/** Who leads, without the lease that runs down: the timeline is drawn again when leadership changes, not with each beat. */
function useStanding(): readonly RoleLeader[] {
  const standing = useLive(({ leaders = [] }) =>
    JSON.stringify(
      leaders.map(({ role, leader_id, leader_epoch, acquired_at }) => [role, leader_id, leader_epoch, acquired_at]),
    ),
  );
  return useMemo(() => live.get().leaders ?? [], [standing]);
}

function earliest(rows: readonly RoleRow[], now: number): number {
  const known = rows.flatMap(({ spans }) => spans.map(({ from }) => from).filter(Number.isFinite));
  const first = Math.min(now - 60_000, ...known);
  return first - (now - first) * 0.02;
}

function Summary({ rows, frame }: { readonly rows: readonly RoleRow[]; readonly frame: Frame }) {
  const gaps = rows.flatMap(({ role, spans }) =>
    spans.flatMap((span) => (span.kind === "gap" && span.to >= frame.from ? [{ role, ...span }] : [])),
  );
  const longest = gaps.toSorted((a, b) => b.lengthMs - a.lengthMs)[0];
  if (longest === undefined) return <span class="muted">No gap in this time: every role was led throughout.</span>;
  return (
    <span class="muted">
      {gaps.length === 1 ? "1 gap" : `${gaps.length} gaps`} in this time, the longest{" "}
      <strong class="num">{formatGap(longest.lengthMs)}</strong> in {longest.role}. Point at one for its reason.
    </span>
  );
}

function HistoryPanel({ transitions }: { readonly transitions: readonly Transition[] | undefined }) {
  const [shown, setShown] = useState(rowsAtOnce);
  const more = (transitions?.length ?? 0) - shown;
  return (
    <Panel title="History" flush aside={transitions === undefined ? null : `${transitions.length} changes`}>
      <Table
        caption="Every change of leadership, newest first"
        rows={transitions?.slice(0, shown)}
        rowKey={({ id }) => id}
        columns={transitionColumns}
        empty="Nothing has happened yet"
      />
      {more > 0 ? (
        <div class="table-more">
          <button type="button" class="button" onClick={() => setShown(shown + rowsAtOnce)}>
            Show {Math.min(more, rowsAtOnce)} more
          </button>
        </div>
      ) : null}
    </Panel>
  );
}
