import { Command } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { CommandLine } from "../command-line.js";
import { confirm } from "../confirm.js";
import { checkDrill, type DrillKind, runDrill, unaskedLines } from "../drill/drill.js";
import { readScene, type Scene } from "../drill/scene.js";
import { type DrillReport, renderEvent, reportJson, Timeline } from "../drill/timeline.js";
import { formatElapsed } from "../elapsed.js";
import { clientOf, durationOption, type ReadingOptions, withNodeOptions } from "../node-options.js";

interface DrillOptions extends ReadingOptions {
  readonly role: string;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly timeout: Duration;
}

const kinds: readonly { readonly kind: DrillKind; readonly says: string }[] = [
  { kind: "crash", says: "kill the leader's process (SIGKILL), and measure the takeover; run it on the leader's host" },
  {
    kind: "stall",
    says: "freeze the leader's process (SIGSTOP) until another has taken over, wake it, and see that it is fenced; run it on the leader's host",
  },
  { kind: "clean", says: "ask the leader to step down, and measure the hand-over" },
];

export function drillCommand(cli: CommandLine): Command {
  const drill = new Command("drill").description("fail the leader of a running cluster over, and measure it");
  for (const { kind, says } of kinds) {
    drill.addCommand(
      withNodeOptions(new Command(kind))
        .description(says)
        .requiredOption("--role <role>", "the role whose leader it is done to")
        .option("--yes", "do not ask first")
        .option("--force", "even where nobody stands by: then it is an outage")
        .addOption(durationOption("--timeout <duration>", "how long the takeover may take", "60s"))
        .option("--json", "print the report as JSON")
        .action((options: DrillOptions) => act(cli, kind, options)),
    );
  }
  return drill;
}

const deeds: Readonly<Record<DrillKind, (scene: Scene) => string>> = {
  crash: ({ leader }) =>
    `This kills ${leader.node_id} (pid ${leader.pid}), which stays dead until somebody starts it again.`,
  stall: ({ leader }) => `This freezes ${leader.node_id} (pid ${leader.pid}) until another node has taken over.`,
  clean: ({ leader, role }) => `This makes ${leader.node_id} hand "${role}" over.`,
};

async function act(cli: CommandLine, kind: DrillKind, options: DrillOptions): Promise<void> {
  const client = clientOf(cli, options);
  const scene = await readScene(client, options.role);
  checkDrill(kind, scene, options.force === true);
  // The drill goes on without them: what they see of it is not in the report.
  for (const line of unaskedLines(scene.unasked)) cli.stderr.write(`holdfast: ${line}\n`);
  await confirm(cli, deeds[kind](scene), options.yes === true);
  const timeline = new Timeline((event) => {
    if (options.json !== true) cli.stdout.write(`${renderEvent(event)}\n`);
  });
  const interruption = new AbortController();
  const off = cli.onSignal(["SIGINT", "SIGTERM", "SIGHUP"], (signal) =>
    interruption.abort(new HoldfastError("REFUSED", `The drill was interrupted (${signal}).`)),
  );
  try {
    const { signal: interrupted } = interruption;
    const timeoutMs = options.timeout.ms;
    const report = await runDrill({ kind, scene, client, timeline, timeoutMs, interrupted });
    cli.stdout.write(options.json === true ? `${JSON.stringify(reportJson(report))}\n` : summaryOf(report));
  } finally {
    off();
  }
}

function summaryOf({ oldLeader, newLeader, role, newEpoch, tookMs, databaseGapMs }: DrillReport): string {
  const gap =
    databaseGapMs === null ? "" : `; by the database's account ${formatElapsed(databaseGapMs)} without a leader`;
  return `\n"${role}" went from ${oldLeader} to ${newLeader} (epoch ${newEpoch}) in ${formatElapsed(tookMs)}${gap}.\n`;
}
