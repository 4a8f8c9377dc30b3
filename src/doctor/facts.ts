import type { SessionPath } from "../election/core/elector-state.js";

/** What was seen of a database. Gathered by the store; judged here, without asking anything again. */
export interface Facts {
  /** By `store.url` or its parts. */
  readonly main: Reach;
  /** By `store.election_url`; null where that is not set. */
  readonly election: Reach | null;
  /** Null where the database was not reached. */
  readonly server: ServerFacts | null;
  readonly schema: SchemaFacts | null;
  /** Null where the schema could not be read. */
  readonly cluster: ClusterFacts | null;
}

export type Reach =
  | {
      readonly kind: "reached";
      readonly path: SessionPath;
      readonly encrypted: boolean;
      /** A socket, or a loopback address. */
      readonly local: boolean;
      readonly user: string;
      /** The same for two ways that lead to the same database; null where it may not be read. */
      readonly database: string | null;
      readonly inRecovery: boolean;
    }
  | { readonly kind: "failed"; readonly reason: ReachFailure; readonly said: string };

export type ReachFailure = "away" | "password" | "not_admitted" | "no_database" | "full" | "starting" | "tls" | "other";

export interface ServerFacts {
  /** As 150004 for 15.4. */
  readonly versionNumber: number;
  readonly version: string;
  readonly inRecovery: boolean;
  readonly superuser: boolean;
  readonly settings: ReadonlyMap<string, SettingFact>;
  /** Whether a busy session can notice that its client is gone; null where it could not be tried. */
  readonly watchesClients: boolean | null;
  readonly connections: ConnectionFacts;
  readonly clock: readonly ClockSample[];
  readonly commits: CommitFacts;
  readonly horizon: HorizonFacts;
  readonly standbys: StandbyFacts | null;
}

/** As a new session of this role in this database gets it; numbers in the setting's own unit. */
export interface SettingFact {
  readonly value: string;
  /** "default", "configuration file", "database", "user" and so on. */
  readonly source: string;
}

export interface ConnectionFacts {
  readonly max: number;
  /** Kept for superusers, and from version 16 on for whoever may use reserved ones. */
  readonly reserved: number;
  readonly used: number;
  /** Of nodes and of maintenance, among those used, as far as this role can see. */
  readonly ofHoldfast: number;
  /** -1: no limit. */
  readonly roleLimit: number;
  readonly databaseLimit: number;
}

/** One question for the time, in milliseconds. */
export interface ClockSample {
  readonly sentMono: number;
  readonly receivedMono: number;
  /** This machine's wall clock when the answer was there. */
  readonly receivedWall: number;
  readonly databaseWall: number;
}

export type CommitFacts =
  | { readonly kind: "measured"; readonly ms: readonly number[] }
  | { readonly kind: "late"; readonly afterMs: number }
  /** A replica, or a role that may not. */
  | { readonly kind: "untried" };

export interface HorizonFacts {
  readonly oldest: {
    readonly pid: number;
    readonly user: string;
    readonly seconds: number;
    readonly state: string;
  } | null;
  /** In transactions, over all sessions. */
  readonly xminAge: number;
  readonly prepared: readonly { readonly gid: string; readonly seconds: number }[];
  readonly slots: readonly { readonly name: string; readonly active: boolean; readonly xminAge: number }[];
  /** How many transactions ago this database was last frozen. */
  readonly freezeAge: number;
}

export interface StandbyFacts {
  readonly names: string;
  /** Streaming and counted as synchronous; null where this role may not see. */
  readonly synchronous: number | null;
}

export interface SchemaFacts {
  readonly exists: boolean;
  readonly owner: string | null;
  /** This role is the owner, or may act as it. */
  readonly owns: boolean;
  readonly mayCreate: boolean;
  /** Null where it may not be read. */
  readonly version: number | null;
  readonly oldestCode: number | null;
  /** Null: not claimed yet, or not readable. */
  readonly cluster: string | null;
  /** What a node needs and this role lacks, such as "update on leases". */
  readonly lacking: readonly string[];
  /** Null where it cannot be read. */
  readonly identity: string | null;
}

export interface ClusterFacts {
  readonly nodes: readonly { readonly nodeId: string; readonly status: string; readonly heartbeatAgeMs: number }[];
  readonly leases: readonly {
    readonly role: string;
    readonly epoch: bigint;
    readonly holder: string | null;
    readonly remainingMs: number;
    readonly identity: string | null;
  }[];
  readonly historyBytes: number;
  /** The roles of the database that living nodes are logged in as. */
  readonly logins: readonly string[];
}
