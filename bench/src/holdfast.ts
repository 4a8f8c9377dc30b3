/**
 * The built package, as its users get it: the benches measure what ships. The embedded server is taken from the inside,
 * because only here is a server needed that outlives its nodes.
 */
export { createNode, NotLeaderError } from "../../dist/index.js";
export { createQueue } from "../../dist/queue.js";
export { startEmbedded } from "../../dist/store/embedded/server.js";
