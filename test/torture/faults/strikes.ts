import type { FaultKind } from "../history.js";
import { duplicateRequests, flood, slowClients } from "./clients.js";
import type { Strike } from "./fault.js";
import { partition, partitionFromDatabase, partitionToDatabase } from "./partitions.js";
import { blockLoop, freeze, freezeInTransaction, kill } from "./processes.js";
import { connectionsExhausted, databaseFailover, diskFull, restartFast, restartImmediate } from "./servers.js";
import { terminateListener, terminateLockSession, terminateWorker } from "./sessions.js";
import { clockJump, poolerRestart } from "./surroundings.js";
import { replyLostAfterCommit, slowDatabase } from "./wire.js";

export const strikes: Readonly<Record<FaultKind, Strike>> = {
  kill,
  freeze,
  freeze_in_transaction: freezeInTransaction,
  block_loop: blockLoop,
  partition,
  partition_to_database: partitionToDatabase,
  partition_from_database: partitionFromDatabase,
  reply_lost_after_commit: replyLostAfterCommit,
  slow_database: slowDatabase,
  restart_fast: restartFast,
  restart_immediate: restartImmediate,
  database_failover: databaseFailover,
  terminate_lock_session: terminateLockSession,
  terminate_listener: terminateListener,
  terminate_worker: terminateWorker,
  pooler_restart: poolerRestart,
  connections_exhausted: connectionsExhausted,
  disk_full: diskFull,
  clock_jump: clockJump,
  duplicate_requests: duplicateRequests,
  flood,
  slow_clients: slowClients,
};
