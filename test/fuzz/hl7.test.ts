import { describe, expect, it } from "vitest";
import { charsetOf } from "../../src/engine/charset.js";
import { Random } from "../simulation/random.js";
import { claimsOfBytes, claimsOfChange, claimsOfReading } from "./hl7-claims.js";
import { writeMessage } from "./hl7-grammar.js";
import { mutate } from "./hl7-mutation.js";

/**
 * Messages made by a grammar, with accidents at the level of bytes. A seed is one message; one that fails is told by its number,
 * and stays in the list of those that are run again.
 */
const seedsInCi = 1_500;
const kept: readonly number[] = [20_093];

type Outcome = "read" | "malformed";

function run(seed: number): Outcome {
  const random = new Random(seed);
  const { text, separators } = writeMessage(random);
  const bytes = mutate(Buffer.from(text), random, separators);
  try {
    const message = claimsOfBytes(bytes, charsetOf);
    if (message === null) return "malformed";
    claimsOfReading(message);
    for (let round = 0; round < 3; round++) claimsOfChange(message, random, charsetOf);
    return "read";
  } catch (error) {
    throw new Error(
      `HL7 fuzz, seed ${seed}: ${String(error)}\n${JSON.stringify(bytes.toString("latin1").slice(0, 2_000))}`,
      { cause: error },
    );
  }
}

describe("Any bytes, read as HL7", () => {
  it(`keep what is claimed of them, for ${seedsInCi} seeds`, { timeout: 120_000 }, () => {
    const counts = { read: 0, malformed: 0 };
    for (const seed of kept) run(seed);
    for (let seed = 0; seed < seedsInCi; seed++) counts[run(seed)]++;
    // Both kinds have to come up often, or the claims are about nothing.
    expect(counts.read).toBeGreaterThan(seedsInCi / 3);
    expect(counts.malformed).toBeGreaterThan(seedsInCi / 20);
  });
});
