import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import type { LeaderAnswer, RequestAnswer } from "../../server/cluster-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { CommandLine } from "../command-line.js";
import { confirm } from "../confirm.js";
import { type DatabaseOptions, localActor, withDatabaseOptions, withMaintenance } from "../database-options.js";
import type { NodeClient } from "../node-client.js";
import { asEpoch, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { printJson, printLines } from "../print.js";

export function leaderCommand(cli: CommandLine): Command {
  return new Command("leader")
    .description("the leader of a role")
    .addCommand(stepDownCommand(cli))
    .addCommand(advanceEpochCommand(cli));
}

interface StepDownOptions extends ReadingOptions {
  readonly to?: string;
}

const waitMs = 30_000;

function stepDownCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("step-down"))
    .description("a planned hand-over: to the heir, or to the node that is named")
    .argument("<role>", "the role")
    .option("--to <node>", "who shall lead next; the heir by default")
    .action(async (role: string, { to, ...options }: StepDownOptions) => {
      const client = clientOf(cli, options);
      const path = `/cluster/leaders/${encodeURIComponent(role)}/step-down?wait_ms=${waitMs}`;
      const body = to === undefined ? {} : { to };
      const answer = await client.post<RequestAnswer>(path, { body, timeoutMs: waitMs + 5_000 });
      if (options.json === true) return printJson(cli, answer);
      const old = oneLine(answer.node_id);
      if (answer.acted_at === null) return printLines(cli, [`${old} was asked to hand ${role} over, and has not yet.`]);
      const next = await successorOf(client, role);
      const now =
        next === null
          ? "nobody has taken it yet"
          : `${oneLine(next.leader_id ?? "")} leads it, epoch ${next.leader_epoch}`;
      printLines(cli, [`${old} handed ${role} over; ${now}.`]);
    });
}

const looks = 50;
const betweenLooksMs = 100;

async function successorOf(client: NodeClient, role: string): Promise<LeaderAnswer | null> {
  for (let look = 0; look < looks; look += 1) {
    const { items } = await client.get<ListAnswer<LeaderAnswer>>("/cluster/leaders?limit=1000");
    const lease = items.find((item) => item.role === role);
    if (lease !== undefined && lease.leader_id !== null) return lease;
    await delay(betweenLooksMs);
  }
  return null;
}

interface AdvanceOptions extends DatabaseOptions {
  readonly to: bigint;
  readonly yes?: boolean;
  readonly json?: boolean;
}

function advanceEpochCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("advance-epoch"))
    .description(
      "after a restore from a dump: raise a role's epoch above every token that was given, straight in the database",
    )
    .argument("<role>", "the role")
    .requiredOption(
      "--to <epoch>",
      "at least this; the highest token that any outside system has seen, and one more",
      asEpoch,
    )
    .option("--yes", "do not ask first")
    .option("--json", "print the answer as JSON")
    .action(async (role: string, options: AdvanceOptions) => {
      await confirm(
        cli,
        `This ends the term of whoever leads "${role}", and cannot be taken back.`,
        options.yes === true,
      );
      const epoch = await withMaintenance(cli, options, (maintenance) =>
        maintenance.advanceEpoch(role, options.to, localActor()),
      );
      if (options.json === true) printJson(cli, { role, epoch: Number(epoch) });
      else printLines(cli, [`The epoch of ${role} is ${epoch}.`]);
    });
}
