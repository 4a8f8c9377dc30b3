import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { TestClock } from "../testing.js";
import { untilKnown } from "./until-known.js";

const unknown = new HoldfastError("UNKNOWN_OUTCOME", "the reply was lost");
const away = new HoldfastError("DATABASE_AWAY", "nobody answers");
const refused = new HoldfastError("REFUSED", "not these");

/** Answers each question with the next of these; null is a success. */
function asked(answers: readonly (HoldfastError | null)[], isOver: () => boolean = () => false) {
  const clock = new TestClock();
  const repeated: boolean[] = [];
  const left = [...answers];
  const write = async (isRepeated: boolean): Promise<void> => {
    repeated.push(isRepeated);
    const answer = left.shift() ?? null;
    await Promise.resolve();
    if (answer !== null) throw answer;
  };
  const outcome = untilKnown(write, { clock, isOver }).then(
    () => "written",
    (error: unknown) => error,
  );
  return { clock, repeated, outcome };
}

describe("a write to places that were given", () => {
  it("is repeated while nobody knows what became of it, and knows that it is a repetition", async () => {
    const { clock, repeated, outcome } = asked([away, unknown, away, null]);
    await clock.advance(1_000);
    expect(await outcome).toBe("written");
    expect(repeated).toEqual([false, false, true, true]);
  });

  it("stays unknown once it was, whatever else is answered", async () => {
    const { clock, outcome } = asked([unknown, refused]);
    await clock.advance(1_000);
    expect(await outcome).toBe(unknown);
  });

  it("fails at once with what no repetition mends", async () => {
    const { repeated, outcome } = asked([refused]);
    expect(await outcome).toBe(refused);
    expect(repeated).toHaveLength(1);
  });

  it("is given up with its term", async () => {
    let isOver = false;
    const { clock, repeated, outcome } = asked([away, null], () => isOver);
    await clock.advance(0);
    isOver = true;
    await clock.advance(1_000);
    expect(await outcome).toBe(away);
    expect(repeated).toHaveLength(1);
  });
});
