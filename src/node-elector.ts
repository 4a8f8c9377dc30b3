import { Elector } from "./election/elector.js";
import { electorSettingsOf } from "./election/elector-settings.js";
import { pathWarnings } from "./election/path-warnings.js";
import type { RoleBook } from "./election/role-book.js";
import { HoldfastError } from "./errors.js";
import type { BeatSignals } from "./lifecycle/first-beat.js";
import { lastingFailures, type NodeParts } from "./node-parts.js";
import type { LockSession } from "./store/contract.js";
import type { ElectionObserver } from "./telemetry/election-observer.js";

/** Those who go by what the elector tells. */
interface Listeners<Tx> {
  readonly roles: RoleBook<Tx>;
  readonly observer: ElectionObserver;
  readonly signals: BeatSignals;
  readonly leadershipChanged: () => void;
  /** Some failures no retry mends: another process has this node's place. */
  readonly fatal: (error: HoldfastError) => void;
}

/** The elector of a node, tied to the rooms that go by it. */
export function electorOf<Tx>(parts: NodeParts<Tx>, listeners: Listeners<Tx>): Elector {
  const { config, store, clock, random, report } = parts;
  const { roles, observer, signals, leadershipChanged } = listeners;
  const onFailure = (tell: () => void, error: unknown): void => {
    tell();
    hearFailure(error, listeners);
  };
  return new Elector({
    sessions: store,
    settings: electorSettingsOf(config, report),
    contending: config.cluster.leaderElection.enabled,
    clock,
    random,
    events: {
      elected: (effect) => {
        roles.get(effect.role)?.onElected(effect);
        leadershipChanged();
      },
      draining: (effect) => roles.get(effect.role)?.onDraining(effect),
      ended: (effect) => {
        roles.get(effect.role)?.onEnded(effect);
        leadershipChanged();
      },
      changed: (effect) => roles.get(effect.role)?.onChanged(effect.view),
      evidenceRefused: (effect) => observer.evidenceRefused(effect.role, effect.reason),
      stepped: (state) => {
        roles.onStepped(state);
        observer.stepped(state);
      },
      linkOpened: (link, session) => {
        if (link.kind === "lock") judgePath(session as LockSession, parts, listeners);
      },
      linkFailed: (link, error) => onFailure(() => observer.linkFailed(link, error), error),
      beaten: (durationMs) => {
        observer.beaten(durationMs);
        signals.emit("beaten");
      },
      requestFailed: (what, error) => onFailure(() => observer.trouble(`a ${what} failed`, error), error),
      acquireReplied: (role, reply, durationMs) => observer.acquireReplied(role, reply, durationMs),
      reaped: (reaped) => observer.reaped(reaped),
    },
  });
}

function judgePath<Tx>(session: LockSession, parts: NodeParts<Tx>, { fatal }: Listeners<Tx>): void {
  const { config, log, report } = parts;
  const { refusal, warnings } = pathWarnings(session, config.insistsOnEvidence);
  if (refusal !== null) fatal(refusal);
  for (const warning of warnings) log.warn({ node_id: report.nodeId }, warning);
}

function hearFailure<Tx>(error: unknown, { roles, fatal }: Listeners<Tx>): void {
  if (!(error instanceof HoldfastError)) return;
  if (error.code === "UNKNOWN_ROLE") roles.ensureAll();
  if (lastingFailures.has(error.code)) fatal(error);
}
