import { expect, test } from "vitest";
import { parseArguments } from "./arguments.js";
import { faultKinds } from "./history.js";

test("without arguments a run takes ten minutes, with all faults and the seed that was drawn", () => {
  expect(parseArguments([], 42)).toEqual({
    kind: "run",
    run: { minutes: 10, seed: 42, faults: faultKinds, out: ".holdfast/torture-42" },
  });
});

test("minutes, seed, faults and folder are taken as they are given", () => {
  const args = ["--minutes", "0.5", "--seed", "7", "--fault", "freeze", "--fault", "kill", "--out", "here"];
  expect(parseArguments(args, 42)).toEqual({
    kind: "run",
    run: { minutes: 0.5, seed: 7, faults: ["kill", "freeze"], out: "here" },
  });
});

test("a fault that nobody knows is refused with all that there are", () => {
  const parsed = parseArguments(["--fault", "earthquake"], 42);
  expect(parsed).toMatchObject({ kind: "refused" });
  for (const kind of ["earthquake", ...faultKinds])
    expect(parsed).toMatchObject({ message: expect.stringContaining(kind) });
});

test.each([
  [["--minutes", "soon"]],
  [["--minutes", "0"]],
  [["--seed", "-1"]],
  [["--seed", "x"]],
  [["--sed", "1"]],
  [["now"]],
])("%j is refused in one line", (args) => {
  const parsed = parseArguments(args, 42);
  expect(parsed.kind).toBe("refused");
  expect(parsed.kind === "refused" ? parsed.message : "").toMatch(/^[^\n]+$/);
});
