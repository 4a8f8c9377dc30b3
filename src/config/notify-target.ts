import { Secret } from "./secret.js";
import { listOf, type Reading, type Setting } from "./setting.js";

/** Where an alert is sent. A webhook's address is as good as a password to whoever receives it. */
export type NotifyTarget =
  | { readonly kind: "pagerduty" }
  | { readonly kind: "slack"; readonly channel: string | null }
  | { readonly kind: "webhook"; readonly url: Secret };

const mustBe = 'a list of "pagerduty", "slack", "slack:#channel" and "webhook:https://...", each at most once';

export function notifyTargets(doc: string): Setting<readonly NotifyTarget[], readonly string[]> {
  const show = (targets: readonly NotifyTarget[]): string => JSON.stringify(targets.map(showTarget));
  return { ...listOf<NotifyTarget, string>([], mustBe, doc, readTarget), hidden: true, show };
}

function readTarget(given: unknown): Reading<NotifyTarget> {
  if (typeof given !== "string") return { mustBe };
  const value = parseTarget(given);
  return value === null ? { mustBe } : { value: Object.freeze(value) };
}

function parseTarget(written: string): NotifyTarget | null {
  if (written === "pagerduty") return { kind: "pagerduty" };
  if (written === "slack") return { kind: "slack", channel: null };
  const [, scheme, rest = ""] = /^(slack|webhook):(.*)$/s.exec(written) ?? [];
  if (scheme === "slack") return /^[#@][^\s\p{C}]{1,80}$/u.test(rest) ? { kind: "slack", channel: rest } : null;
  if (scheme === "webhook" && /^https?:\/\//.test(rest) && URL.canParse(rest)) {
    return { kind: "webhook", url: new Secret(rest) };
  }
  return null;
}

/** As it was written, but for what is secret in it. */
function showTarget(target: NotifyTarget): string {
  if (target.kind === "webhook") return `webhook:${target.url.toString()}`;
  return target.kind === "slack" && target.channel !== null ? `slack:${target.channel}` : target.kind;
}
