import Type, { type Static, type TSchema } from "typebox";
import { HoldfastError } from "../errors.js";
import { exactly, nullable } from "./fields.js";
import { limits } from "./limits.js";

/** Lists come in pages: `{ items, next_cursor }`, the cursor being the name of the page's last item. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.maxPageSize,
      description: `How many items; ${limits.pageSize} by default`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({ pattern: "^[\\x21-\\x7e]{1,200}$", description: "next_cursor of the page before" }),
  ),
};

const querySchema = exactly(pageQuery);
type PageQuery = Static<typeof querySchema>;

/** A page as it is answered. */
export interface ListAnswer<Item> {
  items: Item[];
  next_cursor: string | null;
}

export function pageSchema<Item extends TSchema>(item: Item) {
  return exactly({ items: Type.Array(item), next_cursor: nullable(Type.String()) });
}

/** For what the database pages by itself, by growing numbers: asks for one more than is shown, to know whether it goes on. */
export function databasePage({ limit = limits.pageSize, cursor }: PageQuery): { limit: number; before?: string } {
  if (cursor === undefined) return { limit: limit + 1 };
  if (!/^\d{1,18}$/.test(cursor)) throw badCursor();
  return { limit: limit + 1, before: cursor };
}

/** For what the database pages by itself, and says where it goes on. */
export function exactPage({ limit = limits.pageSize, cursor }: PageQuery): { limit: number; before?: string } {
  return { ...databasePage(cursor === undefined ? {} : { cursor }), limit };
}

export function firstOf<Row extends { readonly id: string }, Item>(
  { limit = limits.pageSize }: PageQuery,
  rows: readonly Row[],
  show: (row: Row) => Item,
): ListAnswer<Item> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(show), next_cursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
}

/** For lists that are read as a whole, in the order given. */
export function cut<Row, Item>(
  { limit = limits.pageSize, cursor }: PageQuery,
  rows: readonly Row[],
  name: (row: Row) => string,
  show: (row: Row) => Item,
): ListAnswer<Item> {
  const before = cursor === undefined ? -1 : rows.findIndex((row) => name(row) === cursor);
  if (cursor !== undefined && before === -1) throw badCursor();
  const shown = rows.slice(before + 1, before + 1 + limit);
  const last = shown.at(-1);
  const more = before + 1 + shown.length < rows.length;
  return { items: shown.map(show), next_cursor: more && last !== undefined ? name(last) : null };
}

function badCursor(): HoldfastError {
  const problems = [{ field: "cursor", problem: "is not one of this list" }];
  return new HoldfastError("INVALID_REQUEST", "cursor is not one of this list: take next_cursor of the page before.", {
    details: { problems },
  });
}
