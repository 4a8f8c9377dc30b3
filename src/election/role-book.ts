import { retryWhileAway } from "../lifecycle/retry.js";
import type { Store } from "../store/contract.js";
import type { ElectionObserver } from "../telemetry/election-observer.js";
import type { Clock } from "./clock.js";
import type { ElectorState } from "./core/elector-state.js";
import type { LeaseView } from "./core/lease.js";
import type { Role } from "./core/names.js";
import type { Elector } from "./elector.js";
import { RoleHandle } from "./role.js";

export interface RoleBookParts<Tx> {
  readonly store: Store<Tx>;
  readonly elector: () => Elector;
  readonly clock: Clock;
  readonly observer: ElectionObserver;
  readonly alsoEnded: () => Promise<void>;
  readonly lockKeyOf: (role: Role) => bigint | null;
  /** The node stops. */
  readonly signal: AbortSignal;
}

/** The roles of a node: those that it contends for, and those that it has only heard of. */
export class RoleBook<Tx> {
  private readonly parts: RoleBookParts<Tx>;
  private readonly handles = new Map<Role, RoleHandle<Tx>>();
  private readonly measured = new Set<Role>();

  constructor(parts: RoleBookParts<Tx>) {
    this.parts = parts;
  }

  get(role: Role): RoleHandle<Tx> | undefined {
    return this.handles.get(role);
  }

  get contended(): readonly Role[] {
    return [...this.handles.keys()];
  }

  get leadsAnything(): boolean {
    return [...this.handles.values()].some(({ gate }) => gate.isLeader);
  }

  /** The same handle for the same name; from the first call on the node contends for it. */
  contend(role: Role): RoleHandle<Tx> {
    const known = this.handles.get(role);
    if (known !== undefined) return known;
    const { store, clock, observer, alsoEnded } = this.parts;
    const elector = this.parts.elector();
    const { holder } = elector.state.settings;
    const handle = new RoleHandle<Tx>({ name: role, elector, store, holder, clock, observer, alsoEnded });
    this.handles.set(role, handle);
    this.measure(role, null);
    this.ensure(role);
    return handle;
  }

  /** Every series of a known role exists, also on a node that does not contend for it. */
  measure(role: Role, lastSeen: (() => LeaseView | null) | null): void {
    if (this.measured.has(role)) return;
    this.measured.add(role);
    const { observer, elector } = this.parts;
    observer.addRole(role, {
      isLeader: () => this.handles.get(role)?.gate.isLeader === true,
      state: () => elector().state,
      lastSeen: lastSeen ?? (() => null),
    });
  }

  /** The rows were lost: they are made again. */
  ensureAll(): void {
    for (const role of this.handles.keys()) this.ensure(role);
  }

  onStepped(state: ElectorState): void {
    for (const handle of this.handles.values()) handle.onStepped(state);
  }

  /** Makes the role's row exist, however long that takes, and contends from then on. */
  private ensure(role: Role): void {
    const { store, observer, lockKeyOf, signal, elector } = this.parts;
    const order = { role, lockKey: lockKeyOf(role) };
    const always = Number.POSITIVE_INFINITY;
    const passing = [
      ["DATABASE_READ_ONLY", always],
      ["DATABASE_REFUSED", always],
    ] as const;
    retryWhileAway(() => store.ensureRoles([order]), always, passing, signal)
      .then(() => elector().dispatch({ kind: "contend", role }))
      .catch((error: unknown) => observer.trouble(`cannot contend for role ${role}`, error));
  }
}
