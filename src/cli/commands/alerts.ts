import { Command, Option } from "commander";
import type { AlertAnswer, RuleAnswer, TestedAnswer } from "../../server/alert-answers.js";
import type { ListAnswer } from "../../server/page.js";
import { renderAlerts, renderRules, renderTested } from "../alert-tables.js";
import { type CommandLine, Ended } from "../command-line.js";
import { asCount, clientOf, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { lookOf, printJson, printLines } from "../print.js";

export function alertsCommand(cli: CommandLine): Command {
  return new Command("alerts")
    .description("alerts: what fires, which rules there are, and whether those who are to be told can be reached")
    .addCommand(listCommand(cli))
    .addCommand(rulesCommand(cli))
    .addCommand(actCommand(cli, "acknowledge", "Acknowledged"))
    .addCommand(actCommand(cli, "resolve", "Resolved"))
    .addCommand(testCommand(cli));
}

const mostListed = 1_000;
/** Each target has its own seconds, and all are told at the same time. */
const testPatienceMs = 40_000;

interface ListOptions extends ReadingOptions {
  readonly limit: number;
  readonly state?: string;
}

const withLimit = (command: Command): Command =>
  withReadingOptions(command).option("--limit <number>", `how many, at most ${mostListed}`, asCount, 100);

function moreOf({ items, next_cursor: next }: ListAnswer<unknown>): readonly string[] {
  return next === null ? [] : [`These are the first ${items.length}: --limit takes up to ${mostListed}.`];
}

function listCommand(cli: CommandLine): Command {
  const states = ["pending", "firing", "acknowledged", "resolved"];
  return withLimit(new Command("list"))
    .description("every alert: those that fire first, then those that may, then what is over")
    .addOption(new Option("--state <state>", "only those").choices(states))
    .action(async (options: ListOptions) => {
      const { limit, state, json } = options;
      const query = new URLSearchParams({
        limit: `${Math.min(limit, mostListed)}`,
        ...(state === undefined ? {} : { state }),
      });
      const answer = await clientOf(cli, options).get<ListAnswer<AlertAnswer>>(`/alerts?${query.toString()}`);
      if (json === true) return printJson(cli, answer);
      const none = [state === undefined ? "There is no alert." : `No alert is ${state}.`];
      const lines = answer.items.length === 0 ? none : renderAlerts(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function rulesCommand(cli: CommandLine): Command {
  return withLimit(new Command("rules"))
    .description("every rule of the node, and whether it holds")
    .action(async (options: ListOptions) => {
      const path = `/alerts/rules?limit=${Math.min(options.limit, mostListed)}`;
      const answer = await clientOf(cli, options).get<ListAnswer<RuleAnswer>>(path);
      if (options.json === true) return printJson(cli, answer);
      const none = ["There is no rule: [[alerts]] in the settings makes one, and alerting.defaults has some."];
      const lines = answer.items.length === 0 ? none : renderRules(answer.items, lookOf(cli));
      printLines(cli, [...lines, ...moreOf(answer)]);
    });
}

function actCommand(cli: CommandLine, act: "acknowledge" | "resolve", done: string): Command {
  const descriptions = {
    acknowledge: "say that somebody looks after an alert that fires; whoever was told of it is told so",
    resolve: "say that an alert is over; it stays quiet until its condition has not held once",
  };
  return withReadingOptions(new Command(act))
    .description(descriptions[act])
    .argument("<id>", "the alert, as list shows it")
    .action(async (id: string, options: ReadingOptions) => {
      const answer = await clientOf(cli, options).post<AlertAnswer>(`/alerts/${encodeURIComponent(id)}/${act}`);
      if (options.json === true) return printJson(cli, answer);
      printLines(cli, [`${done}: ${answer.name} is ${answer.state}.`]);
    });
}

function testCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("test"))
    .description("tell every target of a rule, or of all rules, that this is a test, and say what happened to each")
    .argument("[rule]", "the rule; all of them by default")
    .action(async (rule: string | undefined, options: ReadingOptions) => {
      const asked = { body: rule === undefined ? {} : { rule }, timeoutMs: testPatienceMs };
      const answer = await clientOf(cli, options).post<TestedAnswer>("/alerts/test", asked);
      if (options.json === true) printJson(cli, answer);
      else printLines(cli, renderTested(answer, lookOf(cli)));
      if (answer.items.some(({ outcome }) => outcome === "failed")) throw new Ended(1);
    });
}
