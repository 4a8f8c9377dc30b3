import { pino } from "pino";
import { expect, test } from "vitest";
import { HoldfastError } from "../errors.js";
import { awaitDatabase } from "./await-database.js";

function failing(times: number, error: Error) {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts <= times) throw error;
  };
}

function listening() {
  const lines: unknown[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, log, answerMs: 600_000 };
}

test("a start tells once that it waits for the database, and goes on when it is there", async () => {
  const waiting = listening();
  await awaitDatabase(failing(2, new HoldfastError("DATABASE_AWAY", "Nobody listens.")), waiting);
  expect(waiting.lines).toMatchObject([
    { level: 40, reason: "Nobody listens.", msg: "the database is away: it is tried for 600 s" },
  ]);
});

test("a start that need not wait, or would wait in vain, tells nothing of waiting", async () => {
  const waiting = listening();
  await awaitDatabase(failing(0, new Error("never")), waiting);
  const refused = new HoldfastError("DATABASE_REFUSED", "No.");
  await expect(awaitDatabase(failing(1, refused), waiting)).rejects.toBe(refused);
  expect(waiting.lines).toEqual([]);
});
