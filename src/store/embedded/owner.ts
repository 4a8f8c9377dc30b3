import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { HoldfastError } from "../../errors.js";
import type { DataDirectory } from "./data-directory.js";
import { processMark } from "./process-identity.js";

/** The right of this process to run a server on the directory, until it is released or the process ends. */
export interface Ownership {
  release(): void;
}

interface OwnerRecord {
  readonly pid: number;
  readonly mark: string;
  /** Tells apart two claims of the same process. */
  readonly claim: string;
}

/**
 * Takes the directory for this process. A record left by a dead process is replaced. Two processes that find the same stale
 * record in the same instant can both get through; PostgreSQL's own pid file then lets only one of the servers start.
 */
export function takeOwnership(directory: DataDirectory): Ownership {
  const record: OwnerRecord = { pid: process.pid, mark: processMark(process.pid) ?? "", claim: randomUUID() };
  const draft = `${directory.owner}.${record.claim}`;
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  try {
    // link(), unlike rename(), refuses to replace, and the record is complete from its first moment.
    while (!linked(draft, directory.owner)) removeIfStale(directory);
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    release() {
      if (readOwner(directory)?.claim === record.claim) rmSync(directory.owner, { force: true });
    },
  };
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function removeIfStale(directory: DataDirectory): void {
  const owner = readOwner(directory);
  if (owner !== undefined && processMark(owner.pid) === owner.mark) {
    throw new HoldfastError(
      "EMBEDDED_FAILED",
      `The data directory ${directory.root} is in use by process ${owner.pid}: one process runs the embedded PostgreSQL, others connect to its URL.`,
      { details: { pid: owner.pid } },
    );
  }
  rmSync(directory.owner, { force: true });
}

function readOwner(directory: DataDirectory): OwnerRecord | undefined {
  try {
    return JSON.parse(readFileSync(directory.owner, "utf8")) as OwnerRecord;
  } catch (error) {
    // A power loss can leave an empty file. Nobody who still lives wrote that.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
