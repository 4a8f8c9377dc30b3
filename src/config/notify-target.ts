import { isIP } from "node:net";
import { Secret } from "./secret.js";
import { listOf, matching, type Reading, type Setting } from "./setting.js";

/** Where an alert is sent. A webhook's address is as good as a password to whoever receives it. */
export type NotifyTarget =
  | { readonly kind: "pagerduty" }
  | { readonly kind: "slack"; readonly channel: string | null }
  | { readonly kind: "webhook"; readonly url: Secret }
  | { readonly kind: "log" };

const mustBe = 'a list of "pagerduty", "slack", "slack:#channel", "webhook:https://..." and "log", each at most once';

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
  if (written === "pagerduty" || written === "log") return { kind: written };
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

/** An address of HTTP that nothing secret is in. */
export function httpAddress(fallback: string, doc: string): Setting<string> {
  const mustBe = 'an address like "https://events.example.com/path", without credentials';
  return {
    ...matching(fallback, /^/, mustBe, doc),
    hidden: true,
    read: (given) => {
      // What is before an "@" is a password to whoever wrote it, wherever a parser thinks that it belongs.
      const isPlain = typeof given === "string" && /^https?:\/\/[^@#\s]+$/.test(given) && URL.canParse(given);
      return isPlain ? { value: given } : { mustBe };
    },
  };
}

/** Names of hosts, addresses, and networks as 10.0.0.0/8. */
export function allowedHosts(doc: string): Setting<readonly string[]> {
  const each = 'a list of names of hosts, addresses, and networks like "10.0.0.0/8", each at most once';
  return listOf<string>([], each, doc, (item) =>
    typeof item === "string" && isHostOrNetwork(item) ? { value: item.toLowerCase() } : { mustBe: each },
  );
}

function isHostOrNetwork(written: string): boolean {
  const [address = "", bits, ...more] = written.split("/");
  if (bits === undefined) return isIP(address) !== 0 || /^(?!-)[A-Za-z0-9._-]{1,253}$/.test(address);
  const widest = isIP(address) === 6 ? 128 : 32;
  return more.length === 0 && isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= widest;
}
