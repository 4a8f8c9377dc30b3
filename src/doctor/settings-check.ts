import type { Facts, ServerFacts, SettingFact, StandbyFacts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";

interface SettingRule {
  readonly name: string;
  readonly isBad: (value: string) => boolean;
  readonly says: (setting: SettingFact) => string;
  readonly advice: string;
}

const isOff = (value: string): boolean => value === "off";
/** In milliseconds; 0 means never. */
const shorterThan = (limitMs: number) => (value: string) => Number(value) > 0 && Number(value) < limitMs;
/** What this very session has set is not where it came from. */
const by = ({ source }: SettingFact): string =>
  source === "default" || source === "session" ? "" : ` (set by ${source})`;

/**
 * Sessions of an election set for themselves whatever could bend them (R2), so these concern what shares the settings with
 * everything else: fenced transactions, and the server as a whole.
 */
const rules: readonly SettingRule[] = [
  {
    name: "fsync",
    isBad: isOff,
    says: () => "fsync is off: after a crash of the server's machine leases, epochs and data may be lost or broken.",
    advice: "Set fsync = on, unless this is a database for tests.",
  },
  {
    name: "full_page_writes",
    isBad: isOff,
    says: () => "full_page_writes is off: after a crash of the server's machine pages may be broken.",
    advice: "Set full_page_writes = on, unless the file system writes whole pages.",
  },
  {
    name: "synchronous_commit",
    isBad: isOff,
    says: (setting) =>
      `synchronous_commit is off${by(setting)}: elections set it on for themselves, but a crash of the server may lose fenced writes that were acknowledged.`,
    advice: "ALTER ROLE ... RESET synchronous_commit (or ALTER DATABASE), or set it on where a write matters.",
  },
  {
    name: "autovacuum",
    isBad: isOff,
    says: () => "autovacuum is off: every beat leaves a dead row, and nobody clears them away.",
    advice: "Set autovacuum = on.",
  },
  {
    name: "track_counts",
    isBad: isOff,
    says: () =>
      "track_counts is off, and autovacuum with it: every beat leaves a dead row, and nobody clears them away.",
    advice: "Set track_counts = on.",
  },
  {
    name: "track_activities",
    isBad: isOff,
    says: () => "track_activities is off: nobody can see which session is in the way of a takeover.",
    advice: "Set track_activities = on.",
  },
  ...["statement_timeout", "transaction_timeout", "lock_timeout", "idle_in_transaction_session_timeout"].map(
    (name) => ({
      name,
      isBad: shorterThan(1_000),
      says: (setting: SettingFact) =>
        `${name} is ${setting.value} ms${by(setting)}: elections are exempt, but fenced transactions and the start of a node are cut off by it.`,
      advice: `ALTER ROLE ... SET ${name} to some seconds or more, for the role that the nodes log in as.`,
    }),
  ),
  {
    name: "idle_session_timeout",
    isBad: shorterThan(60_000),
    says: (setting) =>
      `idle_session_timeout is ${setting.value} ms${by(setting)}: elections are exempt, but the pool has to connect anew again and again.`,
    advice: "ALTER ROLE ... SET idle_session_timeout = 0, for the role that the nodes log in as.",
  },
];

export function checkSettings({ server }: Facts): readonly Finding[] {
  if (server === null) return [];
  const found = rules.flatMap((rule): readonly Finding[] => {
    const setting = server.settings.get(rule.name);
    return setting !== undefined && rule.isBad(setting.value)
      ? [warning("settings", rule.says(setting), rule.advice)]
      : [];
  });
  return orOk(
    [...found, ...unwatched(server), ...standbys(server.standbys)],
    ok("settings", "The server's settings do not get in the way."),
  );
}

function unwatched({ watchesClients, versionNumber }: ServerFacts): readonly Finding[] {
  if (watchesClients !== false || versionNumber < 150_000) return []; // Without evidence it makes no difference.
  return [
    warning(
      "settings",
      "This server cannot notice that a busy session's client is gone (client_connection_check_interval): some crashes are told late.",
      "Run the server on Linux, macOS or a BSD, if that matters.",
    ),
  ];
}

function standbys(standby: StandbyFacts | null): readonly Finding[] {
  if (standby === null || standby.synchronous === null) return [];
  const needed = synchronousNeeded(standby.names);
  if (standby.synchronous >= needed) return [];
  return [
    problem(
      "settings",
      `synchronous_standby_names asks for ${needed} standby(s), and ${standby.synchronous} is there: every commit waits, renewals too.`,
      "Bring the standby back, or take it out of synchronous_standby_names and reload.",
    ),
  ];
}

/** `FIRST 2 (a, b, c)`, `ANY 1 (a, b)`, `2 (a, b)`, or names alone, which ask for one. */
export function synchronousNeeded(names: string): number {
  if (names.trim() === "") return 0;
  const counted = /^\s*(?:(?:first|any)\s+)?(\d+)\s*\(/i.exec(names)?.[1];
  return counted === undefined ? 1 : Number(counted);
}
