/** Holdfast: exactly one node acts for each role, on the PostgreSQL you already have. */
export type { LeaderToken } from "./election/gate.js";
export type { LeaderView, LeadFunction, RoleEvent, RoleHandle } from "./election/role.js";
export type { LeaderTerm } from "./election/term.js";
export { DrainingError, type ErrorCode, errorCodes, HoldfastError, NotLeaderError, StaleEpochError } from "./errors.js";
export type { InFlightWork, WorkGuard } from "./lifecycle/in-flight.js";
export type { NodeRow, NodeStatus } from "./membership/node-row.js";
export { createNode, type HoldfastNode, type NodeOptions } from "./node.js";
export type { Transition } from "./store/contract.js";
export { version } from "./version.js";
