import { Command, type CommanderError, Help, type Option } from "commander";
import { version } from "../version.js";
import type { CommandLine } from "./command-line.js";
import { agentCommand } from "./commands/agent.js";
import { alertsCommand } from "./commands/alerts.js";
import { clusterCommand } from "./commands/cluster.js";
import { configCommand } from "./commands/config.js";
import { connectionsCommand } from "./commands/connections.js";
import { controllerCommand } from "./commands/controller.js";
import { cronsCommand } from "./commands/crons.js";
import { demoCommand } from "./commands/demo.js";
import { doctorCommand } from "./commands/doctor.js";
import { drillCommand } from "./commands/drill.js";
import { exportCommand } from "./commands/export.js";
import { helpCommand } from "./commands/help.js";
import { jobsCommand } from "./commands/jobs.js";
import { leaderCommand } from "./commands/leader.js";
import { messagesCommand } from "./commands/messages.js";
import { migrateCommand } from "./commands/migrate.js";
import { nodeCommand } from "./commands/node.js";
import { queueCommand } from "./commands/queue.js";
import { serveCommand } from "./commands/serve.js";
import { superviseCommand } from "./commands/supervise.js";
import { tokenCommand } from "./commands/token.js";
import { examplesOf } from "./examples.js";
import { Misuse } from "./misuse.js";

/** Every command there is. */
export function createProgram(cli: CommandLine): Command {
  const program = new Command("holdfast")
    .description("High availability for a Node.js service on the PostgreSQL it already has.")
    .version(version, "-V, --version", "print the version")
    .addCommand(demoCommand(cli))
    .addCommand(serveCommand(cli))
    .addCommand(superviseCommand(cli))
    .addCommand(controllerCommand(cli))
    .addCommand(agentCommand(cli))
    .addCommand(migrateCommand(cli))
    .addCommand(clusterCommand(cli))
    .addCommand(nodeCommand(cli))
    .addCommand(leaderCommand(cli))
    .addCommand(queueCommand(cli))
    .addCommand(messagesCommand(cli))
    .addCommand(connectionsCommand(cli))
    .addCommand(jobsCommand(cli))
    .addCommand(cronsCommand(cli))
    .addCommand(alertsCommand(cli))
    .addCommand(exportCommand(cli))
    .addCommand(drillCommand(cli))
    .addCommand(configCommand(cli))
    .addCommand(tokenCommand(cli))
    .addCommand(doctorCommand(cli));
  return settle(program, cli);
}

/** What holds for each command, however deep: commander passes settings on only to commands that it makes itself. */
function settle(command: Command, cli: CommandLine): Command {
  if (command.commands.length > 0) command.helpCommand(false).addCommand(helpCommand());
  command
    .exitOverride((error) => {
      throw told(error, command);
    })
    .configureOutput({
      writeOut: (text) => cli.stdout.write(text),
      writeErr: (text) => cli.stderr.write(text),
      // The message comes with the error, and is printed where all errors are.
      outputError: () => undefined,
      getOutHelpWidth: () => (cli.stdout.isTTY ? cli.stdout.columns : 100),
      getErrHelpWidth: () => (cli.stderr.isTTY ? cli.stderr.columns : 100),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ optionDescription: describe })
    .addHelpText("after", () => examplesOf(command))
    .helpOption("-h, --help", "print what the command takes")
    .option("--verbose", "add the stack to errors");
  for (const inner of command.commands) settle(inner, cli);
  return command;
}

/** A value that is wrong comes with what it must be; whoever has the words wrong needs to see which there are. */
function told(error: CommanderError, command: Command): CommanderError {
  return error.exitCode !== 0 && error.code !== "commander.invalidArgument" && error.code !== "commander.help"
    ? new Misuse(error, command)
    : error;
}

function describe(this: Help, option: Option): string {
  const described = Help.prototype.optionDescription.call(this, option);
  return option.mandatory ? `${described} (has to be given)` : described;
}
