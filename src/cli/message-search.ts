import { type Command, Option } from "commander";
import { shownStatuses } from "../engine/message-status.js";
import type { MessageAnswer } from "../server/message-answers.js";
import type { ListAnswer } from "../server/page.js";
import { asMoment } from "./moment.js";
import type { NodeClient } from "./node-client.js";

/** By what messages are chosen, in every command that chooses some. */
export interface SearchOptions {
  readonly since?: string;
  readonly until?: string;
  readonly connection?: string;
  readonly type?: string;
  readonly controlId?: string;
  readonly status?: string;
  readonly text?: string;
}

const pageSize = 1_000;

export function withSearchOptions(command: Command): Command {
  return command
    .option("--since <time>", "received at or after this: 2h (ago), ISO 8601, or seconds since 1970", asMoment)
    .option("--until <time>", "received before this", asMoment)
    .option("--connection <name>", "of this inbound alone")
    .option("--type <type>", "of this type alone: ADT^A01, or all of a kind: ADT")
    .option("--control-id <id>", "with this control id alone")
    .addOption(new Option("--status <status>", "with this status alone").choices([...shownStatuses]))
    .option("--text <words>", "that hold all of these words");
}

export function isSearch(options: SearchOptions): boolean {
  return Object.keys(fieldsOf(options)).length > 0;
}

function fieldsOf({ since, until, connection, type, controlId, status, text }: SearchOptions): Record<string, string> {
  const given = { since, until, connection, type, control_id: controlId, status, text };
  return Object.fromEntries(Object.entries(given).filter((each): each is [string, string] => each[1] !== undefined));
}

/** Newest first. A page may hold fewer than asked for while there are more: until there are enough, the next one is asked for. */
export async function searchMessages(
  client: NodeClient,
  options: SearchOptions,
  limit: number,
  found: (count: number) => void = () => undefined,
): Promise<ListAnswer<MessageAnswer>> {
  const items: MessageAnswer[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Record<string, string> = { limit: String(Math.min(pageSize, limit - items.length)) };
    const query = new URLSearchParams({ ...fieldsOf(options), ...page, ...(cursor === null ? {} : { cursor }) });
    const answer = await client.get<ListAnswer<MessageAnswer>>(`/messages?${query.toString()}`);
    items.push(...answer.items);
    cursor = answer.next_cursor;
    if (cursor === null || items.length >= limit) return { items, next_cursor: cursor };
    found(items.length);
  }
}
