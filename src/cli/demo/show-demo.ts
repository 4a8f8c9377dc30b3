import { aborted } from "../../lifecycle/aborted.js";
import type { CommandLine } from "../command-line.js";
import { paintFor } from "../paint.js";
import { enterScreen, frameOf, leaveScreen } from "../watch/watch-screen.js";
import type { DemoCluster } from "./demo-cluster.js";
import type { DemoEnding } from "./demo-ending.js";
import { renderDemo } from "./demo-screen.js";
import { storyOf } from "./demo-story.js";
import { wishOf } from "./keys.js";

/** A clock runs on the screen while nobody leads, and a terminal may change its size. */
const redrawMs = 100;

/** A live screen, and keys that do something to the cluster. Resolves when it is time to stop. */
export async function showDemo(
  cli: CommandLine,
  cluster: DemoCluster,
  { ending, logs }: { readonly ending: DemoEnding; readonly logs: string },
): Promise<void> {
  const paint = paintFor(cli.stdout, cli.env);
  const draw = (): void => {
    const { columns, rows } = cli.stdout;
    cli.stdout.write(frameOf(renderDemo(cluster.state, { columns, rows, paint, now: performance.now(), logs })));
  };
  const offKey = cli.stdin.onKey((key) => {
    const wish = wishOf(cluster.state, key);
    if (wish?.kind === "quit") ending.ask();
    else if (wish !== null) cluster.fulfil(wish);
  });
  cli.stdout.write(enterScreen);
  const timer = setInterval(draw, redrawMs);
  cluster.on("changed", draw);
  try {
    draw();
    await aborted(ending.signal);
  } finally {
    cluster.off("changed", draw);
    clearInterval(timer);
    cli.stdout.write(leaveScreen);
    offKey();
  }
}

/** Without a terminal: a line on standard error for what happens. Resolves when it is time to stop. */
export async function tellDemo(cli: CommandLine, cluster: DemoCluster, signal: AbortSignal): Promise<void> {
  const tell: Parameters<typeof cluster.on<"changed">>[1] = (after, before) => {
    for (const line of storyOf(before, after)) cli.stderr.write(`holdfast demo: ${line}\n`);
  };
  cluster.on("changed", tell);
  try {
    await aborted(signal);
  } finally {
    cluster.off("changed", tell);
  }
}
