import type { Static } from "typebox";
import type {
  infoSchema,
  leaderSchema,
  nodeSchema,
  nodesSchema,
  requestSchema,
  transitionSchema,
} from "../server/cluster-answers.js";

/** What a node answers, as the commands read it. Moments are seconds since 1970, by the database's clock. */
export type NodeAnswer = Static<typeof nodeSchema>;
export type NodesAnswer = Static<typeof nodesSchema>;
export type InfoAnswer = Static<typeof infoSchema>;
export type LeaderAnswer = Static<typeof leaderSchema>;
export type TransitionAnswer = Static<typeof transitionSchema>;
export type RequestAnswer = Static<typeof requestSchema>;

export interface StatusAnswer {
  readonly node_id: string;
  readonly clustered: boolean;
  readonly is_leader: boolean;
  readonly role: "primary" | "standby" | "single-node";
  readonly config_version: number;
}

export interface RoleAnswer {
  readonly node_id: string;
  readonly role: "LEADER" | "STANDBY" | "DRAINING";
  readonly leader_epoch: number | null;
  readonly leader_id: string | null;
  readonly leader_url: string | null;
}

export interface ListAnswer<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

export interface TokenAnswer {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly grants: readonly string[];
  readonly created_at: number;
  readonly created_by: string;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}
