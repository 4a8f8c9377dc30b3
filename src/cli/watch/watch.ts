import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../errors.js";
import type { CommandLine } from "../command-line.js";
import { formatMoment } from "../elapsed.js";
import { oneLine, paintFor } from "../paint.js";
import { changesBetween } from "./cluster-changes.js";
import type { ClusterPicture } from "./cluster-picture.js";
import type { LiveCluster } from "./live-cluster.js";
import { awayNotice, enterScreen, frameOf, leaveScreen, movedNotice, renderScreen } from "./watch-screen.js";

export interface WatchOptions {
  readonly intervalMs: number;
  readonly json: boolean;
}

const interrupt = "\u0003";
const endings: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Shows the cluster until somebody has seen enough. On a terminal a screen, elsewhere a line for each change. */
export async function watchCluster(cli: CommandLine, live: LiveCluster, options: WatchOptions): Promise<void> {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const offSignal = cli.onSignal(endings, stop);
  try {
    const first = await firstPicture(live, stopping.signal);
    const onScreen = cli.stdout.isTTY && !options.json;
    await (onScreen
      ? showScreen(cli, live, first, options, stopping)
      : tellChanges(cli, live, first, options, stopping));
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  } finally {
    offSignal();
  }
}

/** A cluster that nobody shows from the start is an error, and not something to wait for. */
async function firstPicture(live: LiveCluster, signal: AbortSignal): Promise<ClusterPicture> {
  const look = await live.look(signal);
  if (look.kind === "away") throw new HoldfastError("NODE_AWAY", look.reason);
  return look.picture;
}

async function showScreen(
  cli: CommandLine,
  live: LiveCluster,
  first: ClusterPicture,
  { intervalMs }: WatchOptions,
  stopping: AbortController,
): Promise<void> {
  const paint = paintFor(cli.stdout, cli.env);
  const draw = (picture: ClusterPicture, notice: string | null): void => {
    const now = Date.now() / 1000;
    cli.stdout.write(frameOf(renderScreen({ picture, notice }, cli.stdout, { paint, now })));
  };
  const onKey = (key: string): void => {
    if (key === "q" || key === "Q" || key === interrupt) stopping.abort();
  };
  const offKey = cli.stdin.isTTY ? cli.stdin.onKey(onKey) : () => undefined;
  cli.stdout.write(enterScreen);
  try {
    draw(first, null);
    for (let picture = first; await paused(intervalMs, stopping.signal); ) {
      const look = await live.look(stopping.signal);
      if (look.kind === "seen") {
        picture = look.picture;
        draw(picture, picture.via === first.via ? null : movedNotice(first.via, picture.via));
      } else draw(picture, awayNotice(look.reason, picture, Date.now() / 1000));
    }
  } finally {
    cli.stdout.write(leaveScreen);
    offKey();
  }
}

async function tellChanges(
  cli: CommandLine,
  live: LiveCluster,
  first: ClusterPicture,
  { intervalMs, json }: WatchOptions,
  stopping: AbortController,
): Promise<void> {
  const tell = (change: { readonly kind: string; readonly what: string }): void => {
    const at = Date.now() / 1000;
    cli.stdout.write(json ? `${JSON.stringify({ at, ...change })}\n` : `${formatMoment(at)}  ${change.what}\n`);
  };
  tell({ kind: "watching", what: openingOf(first) });
  let away = false;
  for (let picture = first; await paused(intervalMs, stopping.signal); ) {
    const look = await live.look(stopping.signal);
    if (look.kind === "away") {
      if (!away) tell({ kind: "away", what: oneLine(look.reason) });
      away = true;
      continue;
    }
    if (away || look.picture.via !== picture.via) tell({ kind: "via", what: `looking through ${look.picture.via}` });
    away = false;
    for (const change of changesBetween(picture, look.picture)) tell(change);
    picture = look.picture;
  }
}

function openingOf({ info, via, nodes }: ClusterPicture): string {
  const leaders = Object.entries(info.leaders).map(([role, node]) => `${oneLine(node)} leads ${role}`);
  const here = nodes
    .filter(({ status }) => status !== "left")
    .map(({ node_id, status }) => `${oneLine(node_id)} ${status}`);
  return `${oneLine(info.name)} through ${via}: ${here.join(", ")}; ${leaders.join(", ") || "nobody leads anything"}`;
}

/** False when it is time to stop. */
async function paused(ms: number, signal: AbortSignal): Promise<boolean> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
