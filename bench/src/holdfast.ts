/**
 * The built package, as its users get it: the benches measure what ships. The embedded server is taken from the inside,
 * because only here is a server needed that outlives its nodes; so is the HTTP server, which `holdfast serve` starts.
 */
export { createNode, NotLeaderError } from "../../dist/index.js";
export { createJobs } from "../../dist/jobs.js";
export { createQueue } from "../../dist/queue.js";
export { startServer as startHttpServer } from "../../dist/server/serve.js";
export { startEmbedded } from "../../dist/store/embedded/server.js";
