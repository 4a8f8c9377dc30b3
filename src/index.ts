/** Holdfast: exactly one node acts for each role, on the PostgreSQL you already have. */
import type * as role from "./election/role.js";
import type * as term from "./election/term.js";
import type * as node from "./holdfast-node.js";
import type { PostgresTransaction } from "./node.js";

export type { Gate, LeaderToken } from "./election/gate.js";
export type { LeaderView, RoleEvent } from "./election/role.js";
export { DrainingError, type ErrorCode, errorCodes, HoldfastError, NotLeaderError, StaleEpochError } from "./errors.js";
export type { InFlightWork, WorkGuard } from "./lifecycle/in-flight.js";
export type { ClusterInfo, ClusterView } from "./membership/cluster-view.js";
export type { NodeRow, NodeStatus } from "./membership/node-row.js";
export { createNode, type NodeOptions, type PostgresPool, type PostgresTransaction } from "./node.js";
export type { Transition } from "./store/contract.js";
export { version } from "./version.js";

// `Tx` is what a fenced function gets: a `pg` client, unless a test's store says otherwise.
export type HoldfastNode<Tx = PostgresTransaction> = node.HoldfastNode<Tx>;
export type RoleHandle<Tx = PostgresTransaction> = role.RoleHandle<Tx>;
export type LeadFunction<Tx = PostgresTransaction> = role.LeadFunction<Tx>;
export type LeaderTerm<Tx = PostgresTransaction> = term.LeaderTerm<Tx>;
