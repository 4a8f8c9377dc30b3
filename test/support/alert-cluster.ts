import type { AlertAnswer } from "../../src/server/alert-answers.js";
import type { ListAnswer } from "../../src/server/page.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import type { NotificationReceiver } from "./notification-receiver.js";
import type { ServeProcess, ServeSettings } from "./serve-process.js";

interface TestRule {
  readonly name: string;
  readonly condition: string;
  readonly for?: string;
  readonly severity?: string;
}

/** Settings of nodes that evaluate these rules and no others, soon and often, and tell this receiver. */
export function alertSettings(
  receiver: NotificationReceiver,
  rules: readonly TestRule[],
  others: ServeSettings = {},
): ServeSettings {
  const notify = [`webhook:${receiver.url}/alerts`];
  return {
    "alerting.defaults": false,
    "alerting.interval": "500ms",
    "notify.webhook.allow": "127.0.0.1",
    alerts: JSON.stringify(rules.map((rule) => ({ ...rule, notify }))),
    ...others,
  };
}

async function roundsBy(node: ServeProcess): Promise<number> {
  const text = await (await node.get("/metrics")).text();
  return Number(/^holdfast_alert_rounds_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

/** Resolves when these nodes together have done a few more rounds. */
export async function moreRounds(...nodes: readonly ServeProcess[]): Promise<void> {
  const all = async (): Promise<number> => {
    const each = await Promise.all(nodes.map(roundsBy));
    return each.reduce((sum, rounds) => sum + rounds, 0);
  };
  const enough = (await all()) + 4;
  const isEnough = await waitUntil(async () => (await all()) >= enough, 60_000);
  if (!isEnough) throw new Error(`The nodes did no more rounds:\n${nodes.map(({ output }) => output).join("\n")}`);
}

/** Resolves when nothing fires and all was told: on a busy machine a start may take longer than a rule waits. What came until then is forgotten. */
export async function allQuiet(node: ServeProcess, receiver: NotificationReceiver): Promise<void> {
  const isQuiet = async (): Promise<boolean> => {
    const { items } = await node.read<ListAnswer<AlertAnswer>>("/alerts");
    return items.every(
      ({ state, notified }) => state === "resolved" && notified.every(({ outcome }) => outcome !== "waiting"),
    );
  };
  if (!(await waitUntil(isQuiet, 60_000))) throw new Error(`Alerts fire from the start:\n${node.output}`);
  receiver.posts.length = 0;
}

/** Who does the next round. */
export async function evaluatedBy(nodes: readonly ServeProcess[]): Promise<ServeProcess> {
  const before = await Promise.all(nodes.map(roundsBy));
  for (;;) {
    const now = await Promise.all(nodes.map(roundsBy));
    const found = nodes.find((_, index) => (now[index] ?? 0) > (before[index] ?? 0));
    if (found !== undefined) return found;
  }
}
