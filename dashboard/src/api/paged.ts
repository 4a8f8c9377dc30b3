import { useEffect, useState } from "preact/hooks";
import { type Query, withQuery } from "./client.js";
import { type Reading, useReading } from "./reading.js";

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** A list of the API, one page at a time, newest first. */
export interface Paged<Item> extends Reading<Page<Item>> {
  readonly items: readonly Item[] | undefined;
  /** 1 is the first page. */
  readonly number: number;
  readonly older: (() => void) | undefined;
  readonly newer: (() => void) | undefined;
}

export function usePaged<Item>(path: string | null, query: Query = {}, everyMs = 5000): Paged<Item> {
  const list = path === null ? null : withQuery(path, query);
  const [cursors, setCursors] = useState<readonly string[]>([]);
  // Another filter is another list, and begins at its first page.
  useEffect(() => setCursors([]), [list]);
  const reading = useReading<Page<Item>>(path, { ...query, cursor: cursors.at(-1) }, everyMs);
  const next = reading.data?.next_cursor;
  return {
    ...reading,
    items: reading.data?.items,
    number: cursors.length + 1,
    older: next ? () => setCursors([...cursors, next]) : undefined,
    newer: cursors.length > 0 ? () => setCursors(cursors.slice(0, -1)) : undefined,
  };
}
