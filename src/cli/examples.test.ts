import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { FakeCommandLine } from "../../test/support/fake-command-line.js";
import { examples } from "./examples.js";
import { pathOf } from "./misuse.js";
import { createProgram } from "./program.js";
import { run } from "./run.js";

function commandsFrom(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(commandsFrom)];
}

const commands = new Map(
  commandsFrom(createProgram(new FakeCommandLine())).map((command) => [pathOf(command), command] as const),
);

describe("an example in the help of a command", () => {
  it.each(Object.keys(examples))("%s is a command, and shows it", async (path) => {
    const cli = new FakeCommandLine();
    expect(await run([...path.split(" ").slice(1), "--help"], cli)).toBe(0);
    for (const call of examples[path] ?? []) expect(cli.written).toContain(`\n  ${call}\n`);
  });

  const calls = Object.entries(examples).flatMap(([path, shown]) => shown.map((call) => [call, path] as const));

  it.each(calls)("%s has options that there are, and all that have to be given", (call, path) => {
    const asked = call.replace(/^(?:[A-Z_]+=\S+ )+/, "");
    expect(`${asked} `).toContain(`${path} `);
    // The help of all of them shows calls of its commands.
    const options = path === "holdfast" ? [] : (commands.get(path)?.options ?? []);
    const given = asked.match(/ --[a-z-]+/g)?.map((option) => option.trim()) ?? [];
    expect(options.map(({ long }) => long)).toEqual(expect.arrayContaining(given));
    expect(given).toEqual(expect.arrayContaining(options.filter((each) => each.mandatory).map(({ long }) => long)));
  });
});

describe("an option without which a command does nothing", () => {
  it("is marked in its help", async () => {
    const cli = new FakeCommandLine();
    await run(["drill", "crash", "--help"], cli);
    expect(cli.written).toMatch(/--role <role> .*\(has to be given\)$/m);
    expect(cli.written).not.toMatch(/--force .*\(has to be given\)/);
  });
});
