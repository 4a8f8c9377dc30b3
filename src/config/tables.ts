import { refusedSummary } from "../alerts/core/summary.js";
import { parseCron } from "../jobs/core/cron-expression.js";
import { alertLabels } from "./alert-labels.js";
import { notifyTargets } from "./notify-target.js";
import { duration, flag, integer, matching, oneOf, required, type Setting } from "./setting.js";

const name = (doc: string): Setting<string> =>
  required(matching("", /^[A-Za-z0-9_.-]{1,100}$/, '1 to 100 of the characters A-Z, a-z, 0-9, "_", "." and "-"', doc));

/** The columns of `[[crons]]`. */
export const cronColumns = {
  name: name("Name of the cron, unique."),
  schedule: required(schedule("When it fires; a sixth field, in front, is seconds.")),
  timeZone: timeZone("The zone that the schedule is read in."),
  op: required(
    matching(
      "",
      /^[A-Za-z0-9][A-Za-z0-9_.:@/-]{0,199}$/,
      '1 to 200 letters, digits and "_.:@/-" that begin with a letter or a digit',
      "What the job does.",
    ),
  ),
  payload: payload("What the job is given."),
  missed: oneOf(
    ["skip", "coalesce", "catch_up"],
    "What happens to ticks that nobody was there for: no job, one for all of them, or one each.",
    "coalesce",
  ),
  catchUpMax: integer(100, { min: 1, max: 10_000 }, 'At most so many jobs at once for ticks missed, with "catch_up".'),
} as const;

/** The columns of `[[alerts]]`. */
export const alertColumns = {
  name: name("Name of the rule, unique. One that comes with Holdfast is replaced by a rule of its name."),
  enabled: flag(true, "false: the rule is off, also one that comes with Holdfast."),
  condition: condition("What must hold, in PromQL (docs/reference/promql.md). Needed unless the rule is off."),
  for: duration("0s", "How long it must hold before anyone is told."),
  severity: oneOf(["info", "warning", "critical"], "How bad it is.", "warning"),
  labels: alertLabels("Labels that the rule's alerts have beside those of the series."),
  summary: summary(
    "One sentence for whoever is told; {{ $labels.x }} and {{ $value }} stand for what the alert has there.",
  ),
  notify: notifyTargets("Who is told, beside the log. Slack and PagerDuty need their section in [notify]."),
} as const;

function summary(doc: string): Setting<string> {
  const mustBe = "at most 500 printable characters on one line";
  const plain = matching("", /^[^\p{C}]{0,500}$/u, mustBe, doc);
  return {
    ...plain,
    read: (given) => {
      const refused = typeof given === "string" ? refusedSummary(given) : null;
      return refused === null ? plain.read(given) : { mustBe, hint: sentenceOf(refused) };
    },
  };
}

/** What is wrong with one of its fields is told after the sentence that all of them share. */
function schedule(doc: string): Setting<string> {
  const mustBe = 'five or six fields like "0 2 * * *"';
  return {
    ...matching("", /^/, mustBe, doc),
    read: (given) => {
      if (typeof given !== "string") return { mustBe };
      const parsed = parseCron(given);
      if (parsed.kind === "parsed") return { value: given };
      const hasFields = /^\s*\S+(\s+\S+){4,5}\s*$/.test(given);
      return hasFields ? { mustBe, hint: sentenceOf(parsed.reason) } : { mustBe };
    },
  };
}

const sentenceOf = (reason: string): string => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;

function timeZone(doc: string): Setting<string> {
  const mustBe = 'a time zone like "Europe/Berlin"';
  return {
    ...matching("UTC", /^/, mustBe, doc),
    read: (given) => (typeof given === "string" && isTimeZone(given) ? { value: given } : { mustBe }),
  };
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** A JSON document. Nothing shows it: it is the application's. */
function payload(doc: string): Setting<unknown> {
  return {
    fallback: null,
    doc,
    hidden: true,
    show: (value: unknown) => (value === null ? "null" : "(not shown)"),
    fromText: (text) => text,
    read: (given) => {
      const value = copyJson(given, 0);
      return value === undefined ? { mustBe: "what JSON can hold, at most 32 levels deep" } : { value };
    },
  };
}

/** A frozen copy, or undefined where JSON could not say the same. */
function copyJson(given: unknown, depth: number): unknown {
  if (given === null || typeof given === "string" || typeof given === "boolean") return given;
  if (typeof given === "number") return Number.isFinite(given) ? given : undefined;
  if (typeof given !== "object" || depth >= 32) return undefined;
  const kind: unknown = Object.getPrototypeOf(given);
  if (!Array.isArray(given) && kind !== null && kind !== Object.prototype) return undefined;
  const entries = Object.entries(given).map(([key, value]) => [key, copyJson(value, depth + 1)] as const);
  if (entries.some(([, value]) => value === undefined)) return undefined;
  return Object.freeze(Array.isArray(given) ? entries.map(([, value]) => value) : Object.fromEntries(entries));
}

function condition(doc: string): Setting<string> {
  return matching("", /^[^\p{C}]{0,2000}$/u, "at most 2000 printable characters on one line", doc);
}
