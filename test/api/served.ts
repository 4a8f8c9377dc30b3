import type { FastifyInstance } from "fastify";
import type { Limits } from "../../src/server/limits.js";
import { createServer, type RunningServer, startServer } from "../../src/server/serve.js";
import { StandInNode } from "./stand-in-node.js";

type Options = ConstructorParameters<typeof StandInNode>[0];

export interface Served extends AsyncDisposable {
  readonly node: StandInNode;
  readonly app: FastifyInstance;
}

/** A node and its API, without a port. */
export function serve(node = new StandInNode(), limits: Partial<Limits> = {}): Served {
  const app = createServer(node, limits);
  return { node, app, [Symbol.asyncDispose]: async () => await app.close() };
}

/** The same on a machine without tokens, where everyone may do everything. */
export async function serveOpen(options: Options = {}, limits: Partial<Limits> = {}): Promise<Served> {
  const node = new StandInNode(options);
  await node.access.refresh();
  return serve(node, limits);
}

export interface Listening extends AsyncDisposable {
  readonly node: StandInNode;
  readonly server: RunningServer;
  readonly port: number;
}

/** On a port of its own. */
export async function listen(options: Options = {}, limits: Partial<Limits> = {}): Promise<Listening> {
  const node = new StandInNode({ ...options, api: { port: 0, ...options.api } });
  const server = await startServer(node, limits);
  const port = Number(new URL(server.url).port);
  return { node, server, port, [Symbol.asyncDispose]: async () => await server.close() };
}
