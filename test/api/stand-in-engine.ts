import { seenReferences } from "../../src/engine/seen-references.js";
import type { ServedNode } from "../../src/server/served-node.js";
import type { EngineBook } from "../../src/store/engine-contract.js";
import { MemoryCluster } from "../../src/store/memory/cluster.js";
import { MemoryDatabase } from "../../src/store/memory/database.js";
import { MemoryEngineBook } from "../../src/store/memory/engine-book.js";
import { messageCounts } from "../../src/telemetry/message-counts.js";

type Room = ServedNode["engine"];

/** The engine's room of a node without a graph: what is stored of messages can be read, and nothing runs. */
export function standInEngine(troubled: (book: EngineBook) => EngineBook): Room {
  const cluster = new MemoryCluster(new MemoryDatabase({ now: () => Date.now() }), () => () => undefined);
  const book = troubled(
    new MemoryEngineBook(cluster, async (_fence, fn) => {
      await fn({ onCommit: (effect) => effect() });
    }),
  );
  return {
    book,
    engine: null,
    convergence: null,
    replaying: null,
    sharedVersion: 0,
    connections: async () => await Promise.resolve([]),
    counted: async () => await Promise.resolve({ at: null, of: messageCounts("", { totals: "", taken: "", now: "" }) }),
    references: async () => await seenReferences(book, null),
  };
}
