import { expect, test } from "vitest";
import { CommandCompletions } from "./wire-frames.js";

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, Buffer.from(body, "latin1")]);
}

const answer = Buffer.concat([
  message("T", "\0\u0001n\0"),
  message("D", "COMMIT\0COMMIT\0"),
  message("C", "SELECT 1\0"),
  message("C", "COMMIT\0"),
  message("Z", "I"),
]);

test("a COMMIT is seen however its answer is cut into packets, and not where it is only data", () => {
  for (let size = 1; size <= answer.length; size += 1) {
    const completions = new CommandCompletions();
    const tags: string[] = [];
    for (let from = 0; from < answer.length; from += size)
      tags.push(...completions.take(answer.subarray(from, from + size)));
    expect(tags).toEqual(["SELECT 1", "COMMIT"]);
  }
});
