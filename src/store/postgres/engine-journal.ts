import { shownLine } from "../engine-text.js";
import type { ReceivedLine, SettledJournal, StateWrite, StepLine } from "../journal.js";
import { quoted, storable } from "./literal.js";

/** The journal's part of a commit of the queue: statements whose values are one JSON literal each. */

export function receivedStatements(schema: string, segment: number, lines: readonly ReceivedLine[]): readonly string[] {
  if (lines.length === 0) return [];
  const told = quoted(JSON.stringify(lines.map(shownLine).map(receivedJson)));
  return [
    `insert into ${schema}.engine_messages (id, connection, type, control_id, lane, position, segment, size, ack, replay_of)
     select x.id, x.connection, x.type, x.control_id, x.lane, x.position, ${segment}, x.size, decode(x.ack, 'base64'), x.replay_of
     from json_to_recordset(${told}) x(
       id bigint, connection text, type text, control_id text, lane bigint, position bigint, size integer, ack text,
       replay_of bigint)`,
  ];
}

/** What settles claims, an expression, and what is told with it. One statement more is dearer than the call of one function more. */
export function settledStatements(
  schema: string,
  settling: string,
  { steps, state }: SettledJournal = { steps: [], state: [] },
): readonly string[] {
  const told = steps.length === 0 ? "" : `, ${schema}.write_steps(${quoted(JSON.stringify(steps.map(stepJson)))})`;
  return [`select ${settling} as gone${told}`, ...(state.length === 0 ? [] : [stateStatement(schema, state)])];
}

/** The last write to a key counts. Namespaces are locked in order, by whoever writes. */
function stateStatement(schema: string, state: readonly StateWrite[]): string {
  const last = new Map(state.map((write) => [JSON.stringify([write.namespace, write.key]), write]));
  return `
    with told as (
      select * from json_to_recordset(${quoted(JSON.stringify([...last.values()].map(stateJson)))}) x(
        namespace text, key text, value text)
    ), raised as (
      insert into ${schema}.engine_namespaces as n (namespace, version)
      select distinct namespace collate "C", 1 from told order by 1
      on conflict (namespace) do update set version = n.version + 1
      returning n.namespace, n.version
    )
    insert into ${schema}.engine_state (namespace, key, value, version)
    select t.namespace, t.key, t.value::json, r.version
    from told t join raised r on r.namespace = t.namespace collate "C"
    on conflict (namespace, key) do update set value = excluded.value, version = excluded.version`;
}

function receivedJson({ controlId, replayOf, ack, ...line }: ReceivedLine) {
  return { ...line, control_id: controlId, replay_of: replayOf, ack: ack === null ? null : ack.toString("base64") };
}

/** JSON as text, so that the database keeps it as it is, zeros included. */
function stepJson({ detail, lane, ...line }: StepLine) {
  return { ...line, lane: storable(lane), detail: detail === null ? null : JSON.stringify(detail) };
}

function stateJson({ namespace, key, value }: StateWrite) {
  return {
    namespace: storable(namespace),
    key: storable(key),
    value: value === undefined ? null : JSON.stringify(value),
  };
}
