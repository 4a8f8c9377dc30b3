import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { within } from "../lifecycle/within.js";
import type { Posture } from "../membership/posture.js";
import type { ListedAlert, StoredAlert } from "../store/alert-contract.js";
import type { Store } from "../store/contract.js";
import type { MetricsBook } from "../store/metrics-contract.js";
import { AlertMetrics, type SeenState } from "../telemetry/alert-metrics.js";
import { aggregatorRole } from "../upkeep/upkeep-roles.js";
import { AlertWatch, notificationsOf } from "./alert-watch.js";
import { acknowledge, resolveByHand } from "./core/alert-state.js";
import { Deliveries } from "./deliveries.js";
import type { NotificationBody } from "./notification.js";
import type { Notifier } from "./notifiers/notifier.js";
import { nameOfTarget, notifiersOf } from "./notifiers/notifiers.js";
import { type RuleSet, ruleSetOf, type WatchedRule } from "./rule-set.js";
import { byId, SharedAlerts } from "./shared-alerts.js";

export interface AlertRoomParts {
  readonly config: Config;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly store: Pick<Store<unknown>, "alerts"> & { readonly metrics: Pick<MetricsBook, "copies"> };
}

interface AlertNode {
  readonly id: string;
  posture(role: string): Posture;
}

/** An alert as it is shown: one that fires and was acknowledged is that. */
export interface SeenAlert extends Omit<ListedAlert, "state"> {
  readonly state: SeenState;
}

export interface SeenRule {
  readonly rule: WatchedRule;
  /** The worst of what its alerts are. */
  readonly state: "inactive" | "pending" | "firing" | "acknowledged";
  readonly alerts: number;
}

export interface Tested {
  readonly target: string;
  /** Null where it was told. */
  readonly problem: string | null;
}

const mostListed = 5_000;
const mostTries = 10;
const closingPatienceMs = 3_000;
const day = 86_400_000;

/** The alerts of a node: what it watches, what it shows, and what is done to them by hand. */
export class AlertRoom {
  private readonly node: AlertNode;
  private readonly parts: AlertRoomParts;
  private readonly rules: RuleSet;
  private readonly notifiers: ReadonlyMap<string, Notifier>;
  private readonly shared: SharedAlerts;
  private readonly metrics: AlertMetrics;
  private readonly deliveries: Deliveries;
  private readonly trouble: (what: string, error: unknown) => void;
  private readonly stopping = new AbortController();
  private readonly over = new AbortController();
  private isOpen = false;

  constructor(node: AlertNode, parts: AlertRoomParts, trouble: (what: string, error: unknown) => void) {
    const { config, registry, log, store, clock } = parts;
    this.node = node;
    this.parts = parts;
    this.rules = ruleSetOf(config);
    this.notifiers = notifiersOf(this.rules.targets, { notify: config.notify, log, now: () => clock.wall() });
    this.shared = new SharedAlerts(this.rules.backMs);
    this.metrics = new AlertMetrics(registry, config.metrics.prefix, () => this.counts());
    const { metrics, notifiers } = this;
    this.deliveries = new Deliveries({
      ...parts,
      book: store.alerts,
      notifiers,
      metrics,
      trouble,
      stopping: this.stopping.signal,
      signal: this.over.signal,
    });
    this.trouble = trouble;
  }

  /** From now on this node takes its turn. Twice is once; nothing where alerts are off. */
  open(): void {
    const { config, store, registry, clock, log } = this.parts;
    if (this.isOpen || !config.alerting.enabled) return;
    this.isOpen = true;
    const { historyDays } = config.retention;
    const { rules, shared, deliveries, notifiers, metrics, trouble } = this;
    const watch = new AlertWatch({
      rules,
      shared,
      deliveries,
      notifiers,
      metrics,
      trouble,
      clock,
      log,
      book: store.alerts,
      copies: store.metrics,
      nodeId: this.node.id,
      cluster: config.cluster.name,
      intervalMs: config.alerting.interval.ms,
      forgetAfterMs: historyDays === 0 ? null : historyDays * day,
      ownMetrics: () => registry.metrics(),
      isOthersTurn: () => this.isOthersTurn(),
    });
    void watch.run(this.stopping.signal);
  }

  /** Takes no more turns. What is being told gets a moment to be told. */
  async close(): Promise<void> {
    this.stopping.abort();
    await within(closingPatienceMs, this.deliveries.idle());
  }

  /** The node is closing. */
  remove(): void {
    this.stopping.abort();
    this.over.abort();
    this.metrics.remove();
  }

  /** Those that fire first; at most 5000. */
  async list(): Promise<readonly SeenAlert[]> {
    const listed = await this.parts.store.alerts.list(mostListed);
    return listed.map((alert) => ({ ...alert, state: seenState(alert) }));
  }

  /** Every rule of this node, with what the cluster's alerts of it are. */
  async watched(): Promise<readonly SeenRule[]> {
    const { alerts } = await this.parts.store.alerts.look({ version: null, sample: null, backMs: 0 });
    return this.rules.rules.map((rule) => {
      const states = (alerts ?? []).filter((alert) => alert.rule === rule.name).map(seenState);
      const active = states.filter((state) => state !== "resolved");
      const worst = (["firing", "acknowledged", "pending"] as const).find((state) => active.includes(state));
      return { rule, state: worst ?? "inactive", alerts: active.length };
    });
  }

  async act(kind: "acknowledge" | "resolve", id: string, by: string): Promise<SeenAlert> {
    const { store, config } = this.parts;
    for (let tries = 0; tries < mostTries; tries += 1) {
      const { alerts, version, round, now } = await store.alerts.look({ version: null, sample: null, backMs: 0 });
      const before = byId(alerts ?? []).get(id);
      if (before === undefined) throw new HoldfastError("NOT_FOUND", `There is no alert "${id}".`);
      const outcome = kind === "acknowledge" ? acknowledge(before, by, now) : resolveByHand(before, by, now);
      if (outcome.kind === "refused") throw new HoldfastError("REFUSED", outcome.reason);
      if (outcome.kind === "unchanged") return await this.listed(id);
      const { condition, targets } = before;
      const changed = { ...outcome.state, condition, targets };
      const notifications = notificationsOf([{ change: outcome.change, condition, targets }], config.cluster.name);
      const nothing = { sample: null, gone: [], told: [], forgetAfterMs: null };
      const order = { nodeId: this.node.id, version, round, ...nothing, alerts: [changed], notifications };
      if ((await store.alerts.keep(order)) === "overtaken") continue;
      this.deliveries.kick();
      return await this.listed(id);
    }
    throw new HoldfastError("TOO_BUSY", "Others changed the alerts at every try: try again.");
  }

  /** Tells every target of this rule, or of all, that this is a test; the answer says what happened to each. */
  async test(ruleName: string | null): Promise<readonly Tested[]> {
    const { rules } = this.rules;
    const rule = ruleName === null ? null : rules.find(({ name }) => name === ruleName);
    if (rule === undefined) {
      const known = rules.map(({ name }) => name).join(", ");
      throw new HoldfastError("NOT_FOUND", `There is no rule "${ruleName}". There are: ${known || "none"}.`);
    }
    const targets = rule === null ? new Set(["log", ...this.rules.targets.map(nameOfTarget)]) : rule.targets;
    const body = testBody(rule, this.parts.config.cluster.name, this.parts.clock.wall());
    return await Promise.all(
      [...targets].map(async (target) => {
        const told = await this.deliveries.tell(this.notifiers.get(target) as Notifier, body);
        return { target, problem: told.kind === "sent" ? null : told.problem };
      }),
    );
  }

  private async listed(id: string): Promise<SeenAlert> {
    const found = (await this.list()).find((alert) => alert.id === id);
    if (found === undefined) throw new HoldfastError("NOT_FOUND", `There is no alert "${id}" any more.`);
    return found;
  }

  private isOthersTurn(): boolean {
    try {
      const { leaderId } = this.node.posture(aggregatorRole);
      return leaderId !== null && leaderId !== this.node.id;
    } catch {
      return false; // Nobody has ever asked for the role.
    }
  }

  private counts(): ReadonlyMap<SeenState, number> {
    const counts = new Map<SeenState, number>();
    for (const alert of this.shared.alerts.values()) {
      const state = seenState(alert);
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return counts;
  }
}

function seenState({ state, acknowledged }: Pick<StoredAlert, "state" | "acknowledged">): SeenState {
  return state === "firing" && acknowledged !== null ? "acknowledged" : state;
}

function testBody(rule: WatchedRule | null, cluster: string, wallMs: number): NotificationBody {
  const name = rule?.name ?? "test";
  const at = wallMs / 1_000;
  return {
    kind: "test",
    cluster,
    dedup_key: `test-${randomBytes(8).toString("hex")}`,
    change: 1,
    name,
    severity: "info",
    summary: "This is a test. Nothing is wrong, and there is nothing to do.",
    condition: rule?.condition ?? "",
    value: "0",
    labels: { alertname: name, severity: "info" },
    at,
    active_since: at,
    fired_at: null,
    acknowledged_by: null,
    resolved_by: null,
  };
}
