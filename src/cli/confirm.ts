import { HoldfastError } from "../errors.js";
import type { CommandLine } from "./command-line.js";

/** Asks before something that cannot be taken back. Without a terminal nobody could answer, so --yes has to say it. */
export async function confirm(cli: CommandLine, what: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!cli.stdin.isTTY || !cli.stderr.isTTY) {
    throw new HoldfastError("USAGE", `${what} Nobody is here to be asked whether that is meant: add --yes.`);
  }
  cli.stderr.write(`${what} Go on? [y/N] `);
  const answer = await cli.stdin.readLine();
  if (!/^y(es)?$/i.test((answer ?? "").trim())) throw new HoldfastError("REFUSED", "Nothing was done.");
}
