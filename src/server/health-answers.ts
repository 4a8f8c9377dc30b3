import Type, { type Static } from "typebox";
import type { Posture, Readiness } from "../membership/posture.js";
import { epoch, exactly, nullable, postureName } from "./fields.js";

/** What a node says of itself, from memory. */

export const readinessSchema = exactly({
  database: Type.Boolean(),
  migrations: Type.Boolean(),
  registered: Type.Boolean(),
  min_nodes: Type.Boolean(),
  draining: Type.Boolean(),
});

export function showReadiness(found: Readiness): Static<typeof readinessSchema> {
  const { database, migrations, registered, minNodes, draining } = found;
  return { database, migrations, registered, min_nodes: minNodes, draining };
}

const leader = { leader_epoch: nullable(epoch), leader_id: nullable(Type.String()) };

export const aliveSchema = exactly({ ok: Type.Literal(true), role: postureName, ...leader });

export function showAlive({ role, leaderEpoch, leaderId }: Posture): Static<typeof aliveSchema> {
  return { ok: true, role, leader_epoch: numberOf(leaderEpoch), leader_id: leaderId };
}

export const roleSchema = exactly({
  node_id: Type.String(),
  role: postureName,
  ...leader,
  leader_url: nullable(Type.String()),
});

export type RoleAnswer = Static<typeof roleSchema>;

export function showRole({ nodeId, role, leaderEpoch, leaderId, leaderUrl }: Posture): RoleAnswer {
  return {
    node_id: nodeId,
    role,
    leader_epoch: numberOf(leaderEpoch),
    leader_id: leaderId,
    leader_url: leaderUrl,
  };
}

const numberOf = (value: bigint | null): number | null => (value === null ? null : Number(value));
