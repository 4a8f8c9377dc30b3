import { engineQueue, type MessageFilter, type MessageStatus } from "../engine-contract.js";
import { shownText } from "../engine-text.js";

/** What a message's own row and its steps have to be like. Of the steps, too, only those of the stretch are looked at. */
export interface Condition {
  readonly texts: readonly ConditionText[];
  readonly values: readonly unknown[];
}

type ConditionText = (isInStretch: (column: string) => string) => string;

export type StepStatus = Exclude<MessageStatus, "received" | "routed">;

/** What waits is looked for in the queue. */
export function isOfSteps(status: MessageStatus | undefined): status is StepStatus {
  return status !== undefined && status !== "received" && status !== "routed";
}

/** Parameters are counted from $3 on; $1 and $2 are the stretch. */
export function conditionOf(schema: string, filter: MessageFilter): Condition {
  const { from, until, connection, type, controlId, status } = filter;
  const texts: ConditionText[] = [];
  const values: unknown[] = [];
  const add = (text: (parameter: string) => string, value: unknown): void => {
    values.push(value);
    const written = text(`$${values.length + 2}`);
    texts.push(() => written);
  };
  const time = (parameter: string): string => `to_timestamp(${parameter}::double precision / 1000)`;
  if (from !== undefined) add((p) => `e.received_at >= ${time(p)}`, from);
  if (until !== undefined) add((p) => `e.received_at < ${time(p)}`, until);
  if (connection !== undefined) add((p) => `e.connection = ${p}`, shownText.connection(connection));
  if (controlId !== undefined) add((p) => `e.control_id = ${p}`, shownText.controlId(controlId));
  if (type?.includes("^") === true) add((p) => `e.type = ${p}`, shownText.type(type));
  // In the order of "C", what begins with `ADT^` lies between that and `ADT_`.
  else if (type !== undefined) {
    add((p) => `(e.type = ${p} or e.type >= ${p} || '^' and e.type < ${p} || '_')`, shownText.type(type));
  }
  if (isOfSteps(status)) {
    values.push(status);
    const those = idsOf(schema, status, `$${values.length + 2}`);
    texts.push((isInStretch) => `e.id in (${those(isInStretch)})`);
  }
  return { texts, values };
}

/** The ids that have a status, by the indexes of steps and dead letters. */
export function idsOf(schema: string, status: StepStatus, parameter: string): ConditionText {
  if (status !== "error") {
    const stepped = `select s.id from ${schema}.engine_steps s where s.kind = ${parameter}`;
    return (isInStretch) => `${stepped} and ${isInStretch("s.id")}`;
  }
  const id = `${schema}.journal_id(d.headers)`;
  const died = `select ${id} as id from ${schema}.dead_letters d
    where d.queue = '${engineQueue}' and d.redriven_at is null and ${parameter} = 'error'`;
  return (isInStretch) => `${died} and ${isInStretch(id)}`;
}
