import type pg from "pg";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { LeaderTerm } from "../../src/election/term.js";
import type { HoldfastNode } from "../../src/holdfast-node.js";
import { createNode, type NodeOptions } from "../../src/node.js";

type Tx = pg.ClientBase;

/** A node in the test's own process, for tests that look at what it answers and need no signal to stop it. */
export interface LocalNode extends AsyncDisposable {
  readonly node: HoldfastNode<Tx>;
  readonly log: readonly LogLine[];
  /** The term of the next election of the role, or of the one that this node holds already. */
  leads(role?: string): Promise<LeaderTerm<Tx>>;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export async function startLocalNode(settings: NodeOptions): Promise<LocalNode> {
  const log: LogLine[] = [];
  const logger = pino(
    { base: null, timestamp: false },
    { write: (line: string) => log.push(JSON.parse(line) as LogLine) },
  );
  const node = await createNode({ ...settings, logger, registry: new Registry() });
  return {
    node,
    log,
    leads: (role = "scheduler") => new Promise((resolve) => node.role(role).lead(resolve)),
    [Symbol.asyncDispose]: () => node.close(),
  };
}
