import { accessSync, constants, statSync } from "node:fs";
import { isIPv6 } from "node:net";
import { badSettings, type Config } from "./config.js";
import { isLoopback } from "./loopback.js";

/** What must be true of a node that binds a port and tells people. A node within a program binds none. */
export function checkServing(config: Config): void {
  const problems = [...tlsFileProblems(config), ...plainHttpProblems(config), ...notifyProblems(config)];
  if (problems.length > 0) throw badSettings(problems);
}

function tlsFileProblems({ api, store }: Config): readonly string[] {
  return [
    ["api.tls_cert", api.tlsCert] as const,
    ["api.tls_key", api.tlsKey] as const,
    ["store.tls_ca", store.tlsCa] as const,
  ].flatMap(([name, file]) => (file === "" || isReadableFile(file) ? [] : [`${name} ("${file}") cannot be read.`]));
}

function plainHttpProblems({ api }: Config): readonly string[] {
  if (isLoopback(api.host) || api.tlsCert !== "" || api.insecureHttp) return [];
  return [
    `api.host (${api.host}) is reached from other machines, and plain HTTP shows them the tokens: ` +
      "set api.tls_cert and api.tls_key, or api.insecure_http = true where the network encrypts.",
  ];
}

/** An alert that cannot be sent is found out now, and not on the night when it should be. */
function notifyProblems({ alerting, alerts, notify }: Config): readonly string[] {
  const tellers = [
    ...(alerting.enabled && alerting.defaults ? [{ name: "alerting.notify", notify: alerting.notify }] : []),
    ...(alerting.enabled
      ? alerts
          .filter(({ enabled }) => enabled)
          .map(({ name, notify: targets }) => ({ name: `alerts: "${name}"`, notify: targets }))
      : []),
  ];
  const needed = [
    ["slack", notify.slack.webhookUrl, "HOLDFAST_NOTIFY_SLACK_WEBHOOK_URL"] as const,
    ["pagerduty", notify.pagerduty.routingKey, "HOLDFAST_NOTIFY_PAGERDUTY_ROUTING_KEY"] as const,
  ];
  return needed.flatMap(([kind, secret, variable]) => {
    const teller = tellers.find(({ notify: targets }) => targets.some((target) => target.kind === kind));
    if (teller === undefined || !secret.isEmpty) return [];
    return [`${teller.name} notifies ${kind}, which needs ${variable} in the environment.`];
  });
}

function isReadableFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Where a serving node is reached: as stated, else by the machine's name; by the address itself where that is a loopback
 * one, since nobody else could reach it anyway. `port` is the one that was bound.
 */
export function publicUrlOf({ api }: Config, hostname: string, port = api.port): string {
  if (api.publicUrl !== "") return api.publicUrl;
  const host = isLoopback(api.host) ? api.host : hostname;
  return `${api.tlsCert === "" ? "http" : "https"}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
