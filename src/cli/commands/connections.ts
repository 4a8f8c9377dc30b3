import { Command } from "commander";
import type { ConnectionAnswer, SteeredAnswer } from "../../server/connection-routes.js";
import type { ListAnswer } from "../../server/page.js";
import type { CommandLine } from "../command-line.js";
import { renderConnections } from "../connection-tables.js";
import { clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";

export function connectionsCommand(cli: CommandLine): Command {
  return new Command("connections")
    .description("the connections of the message graph: how they are doing, and whether they run")
    .addCommand(listCommand(cli))
    .addCommand(
      steeringCommand(cli, "start", "open connections, also those that were stopped; ask the leader of engine"),
    )
    .addCommand(
      steeringCommand(
        cli,
        "stop",
        "close connections until they are started again, whoever leads; ask the leader of engine",
      ).option("--reason <text>", "for whoever finds them stopped"),
    )
    .addCommand(steeringCommand(cli, "restart", "close connections and open them anew; ask the leader of engine"));
}

const mostListed = 1_000;
/** Above what a node waits for a connection to open or close. */
const patienceMs = 15_000;

function listCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("list"))
    .description("every connection, how it is doing, and what waits there")
    .action(async (options: ReadingOptions) => {
      const path = `/connections?limit=${mostListed}`;
      const answer = await clientOf(cli, options).get<ListAnswer<ConnectionAnswer>>(path);
      if (options.json === true) return printJson(cli, answer);
      const none = ["There is no connection: `holdfast serve --config DIR` runs a message graph."];
      printLines(cli, answer.items.length === 0 ? none : renderConnections(answer.items, lookOf(cli)));
    });
}

interface SteeringOptions extends ReadingOptions {
  readonly reason?: string;
}

/** One by one, so that what was done is known where a later one is refused. */
function steeringCommand(cli: CommandLine, act: "start" | "stop" | "restart", description: string): Command {
  return withReadingOptions(new Command(act))
    .description(description)
    .argument("<name...>", "the connections")
    .action(async (names: readonly string[], { reason, ...options }: SteeringOptions) => {
      const client = clientOf(cli, options);
      const items: SteeredAnswer[] = [];
      try {
        for (const name of new Set(names)) {
          const path = `/connections/${encodeURIComponent(name)}/${act}`;
          const body = reason === undefined ? {} : { reason };
          const answer = await client.post<SteeredAnswer>(path, { body, timeoutMs: patienceMs });
          items.push(answer);
          if (options.json !== true) printLines(cli, [toldOf(answer)]);
        }
      } finally {
        if (options.json === true && items.length > 0) printJson(cli, { items });
      }
    });
}

function toldOf({ name, state, reason }: SteeredAnswer): string {
  const why = reason === null || state === "stopped" ? "" : `: ${oneLine(reason)}`;
  const back = state === "stopped" ? `; "holdfast connections start ${name}" opens it again` : "";
  return `Connection ${name} is ${state}${why}${back}.`;
}
