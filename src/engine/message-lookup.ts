import { HoldfastError } from "../errors.js";
import type { EngineBook, MessageRow } from "../store/engine-contract.js";

/** The message, or why there is none. Its account would also tell where it waits, which takes a look through the lanes. */
export async function rowOfMessage(book: Pick<EngineBook, "rows" | "search">, id: string): Promise<MessageRow> {
  const [row] = await book.rows([id]);
  if (row === undefined) throw await missingMessage(book, id);
  return row;
}

/** Of one that the book does not have: whether it was there once. Ids count up, and what is old is forgotten from below. */
export async function missingMessage(book: Pick<EngineBook, "search">, id: string): Promise<HoldfastError> {
  if (!/^[1-9]\d{0,14}$/.test(id)) return unknownMessage(id);
  const [newer, older] = await Promise.all([book.search({}, { limit: 1 }), book.search({}, { limit: 1, before: id })]);
  const isBelowAll = older.items.length === 0 && older.next === null;
  const newest = newer.items[0];
  if (!isBelowAll || newest === undefined || Number(newest.id) <= Number(id)) return unknownMessage(id);
  return new HoldfastError(
    "GONE",
    `Message ${id} is kept no more: it is older than the oldest that there is (retention.history_days).`,
  );
}

function unknownMessage(id: string): HoldfastError {
  return new HoldfastError("NOT_FOUND", `There is no message "${id}".`);
}
