import { Command } from "commander";

/** `help cluster nodes` is `cluster nodes --help`. Commander's own one stops at the first word, and passes over a wrong one. */
export function helpCommand(): Command {
  return new Command("help")
    .description("print what a command takes")
    .argument("[command...]", "the words of the command")
    .action((words: readonly string[], _options: unknown, help: Command) => {
      let found = help.parent ?? help;
      for (const word of words) {
        const inner = found.commands.find((command) => command.name() === word);
        if (inner === undefined) return found.error(`unknown command '${word}'`, { code: "commander.unknownCommand" });
        found = inner;
      }
      found.outputHelp();
    });
}
