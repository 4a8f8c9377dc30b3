import { type Command, CommanderError } from "commander";

/** A command that was called wrongly, and the command to ask what it takes. */
export class Misuse extends CommanderError {
  readonly wayOut: string;

  constructor({ exitCode, code, message }: CommanderError, command: Command) {
    super(exitCode, code, message);
    this.wayOut = `See "${pathOf(command)} --help".`;
  }
}

/** The words that lead to a command, as they are typed. */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
