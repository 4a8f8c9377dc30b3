/**
 * `holdfast/http`: the guard, the headers and the error answers of Holdfast's own API, as plain functions for any framework.
 * Each answers from memory, with what there is to send: `{ status, headers, body }`.
 */
export type { Answer } from "./server/answer.js";
export { errorAnswer } from "./server/error-answer.js";
export { type GuardOptions, leaderGuard } from "./server/leader-guard.js";
export { type GuardedNode, roleHeaders } from "./server/role-headers.js";
