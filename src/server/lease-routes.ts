import type { FastifyReply } from "fastify";
import Type from "typebox";
import { HoldfastError } from "../errors.js";
import { agentOf, requireAgent } from "./bound-agent.js";
import { toDatabase } from "./database-wait.js";
import { exactly, noQuery, secondsOf } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import { bigOf } from "./job-answers.js";
import {
  deletedAgent,
  foreignLease,
  giveBackSchema,
  givenBackSchema,
  leaseId,
  leaseSchema,
  leaseWishSchema,
  renewalSchema,
  renewedSchema,
  unknownLease,
  writtenLease,
} from "./lease-answers.js";
import { type RouteApp, type RouteParts, routesOf } from "./routes.js";
import type { ServedNode } from "./served-node.js";
import { withoutBodyIsEmpty } from "./validator.js";

const params = exactly({ id: leaseId });
const tags = ["agents"];
const usualPollMs = 30_000;

const begins = { permission: "agent", audited: false } as const;
const ends = { ...begins, endsWork: true } as const;

/** What agents do all day, at the leader of `scheduler`. None of it is audited: the jobs and their events tell it. */
export const leaseRoutes = routesOf(leaseWork, renewLease, giveLeaseBack);

function leaseWork(app: RouteApp, { node }: RouteParts): void {
  const { jobs } = node;

  app.post(
    "/v1/leases",
    {
      config: begins,
      schema: {
        tags,
        summary: "Waits for work and leases it: 200 with tasks, 204 where none came in time",
        querystring: noQuery,
        body: leaseWishSchema,
        response: { 200: leaseSchema, 204: Type.Null({ description: "No work came" }) },
      },
    },
    async ({ body, caller }, reply) => {
      const agent = requireAgent(caller, body.agent);
      const leaderEpoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      const { namespace = "default", capabilities = [], max_tasks: maxTasks = 1, timeout_ms: waitMs } = body;
      const leaseId = body.lease_id?.toLowerCase();
      const wish = { agent, namespace, capabilities: [...new Set(capabilities)], maxTasks, leaseId };
      const lease = await jobs.lease(wish, waitMs ?? usualPollMs, hangUpOf(reply));
      if (lease.kind === "deleted") throw deletedAgent(agent);
      if (lease.kind === "foreign") throw foreignLease();
      if (lease.kind !== "leased") return await reply.code(204).send(null);
      // Whoever has chosen its id can ask for it again, and may have done so by then.
      if (leaseId === undefined) giveBackUnheard(node, reply, agent, lease.leaseId);
      const written = writtenLease(lease, leaderEpoch, jobs.settings.leaseTtlMs);
      return await reply.type("application/json; charset=utf-8").send(written as never);
    },
  );
}

function renewLease(app: RouteApp, { node, limits }: RouteParts): void {
  const { jobs } = node;

  app.post(
    "/v1/leases/:id/renew",
    {
      config: ends,
      bodyLimit: limits.maxBodyBytes,
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "The agent still works on it, and says how far it is",
        params,
        querystring: noQuery,
        body: renewalSchema,
        response: { 200: renewedSchema },
      },
    },
    async ({ params: { id }, body, caller }) => {
      if (body.agent !== undefined) requireAgent(caller, body.agent);
      const leaderEpoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      const agent = holderOf(node, agentOf(caller), body.agent, id);
      const progress = (body.progress ?? []).map((one) => ({ jobId: one.job_id, progress: one.progress as never }));
      const answer = await toDatabase(node, limits.databaseWaitMs, async () => await jobs.renew(agent, id, progress));
      if (answer.kind === "unknown") throw unknownLease(id);
      if (answer.kind === "foreign") throw foreignLease();
      return {
        lease_id: id,
        leader_epoch: Number(leaderEpoch),
        expires_at: secondsOf(answer.expiresAt),
        ttl_ms: jobs.settings.leaseTtlMs,
        job_ids: [...answer.jobIds],
      };
    },
  );
}

function giveLeaseBack(app: RouteApp, { node, limits }: RouteParts): void {
  const { jobs } = node;

  app.post(
    "/v1/leases/:id/give-back",
    {
      config: ends,
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "The agent will not finish these: they go to others, and it cost no attempt",
        params,
        querystring: noQuery,
        body: giveBackSchema,
        response: { 200: givenBackSchema },
      },
    },
    async ({ params: { id }, body, caller }) => {
      if (body.agent !== undefined) requireAgent(caller, body.agent);
      jobs.requireEpoch(bigOf(body.leader_epoch));
      const agent = holderOf(node, agentOf(caller), body.agent, id);
      const given = await toDatabase(
        node,
        limits.databaseWaitMs,
        async () => await jobs.giveBack(agent, id, body.job_ids ?? null),
      );
      return { lease_id: id, job_ids: [...given] };
    },
  );
}

/** Work that was leased to a connection that broke before it had all of the answer: others get it, and it cost no attempt. */
function giveBackUnheard({ jobs, log }: ServedNode, { raw }: FastifyReply, agent: string, id: string): void {
  let isHeard = false;
  raw.once("finish", () => {
    isHeard = true;
  });
  raw.once("close", () => {
    if (isHeard) return;
    jobs.giveBack(agent, id, null).catch((error: unknown) => {
      log.debug({ err: error }, "what an agent did not hear of could not be given back: its lease runs out");
    });
  });
}

/** Whose lease it is, where the caller need not say: a token that is bound says it, and this leader knows those it gave. */
function holderOf({ jobs }: ServedNode, bound: string | null, stated: string | undefined, id: string): string {
  const known = bound ?? stated ?? jobs.holderOf(id);
  if (known !== null) return known;
  throw new HoldfastError("INVALID_REQUEST", "agent is missing: this token is no agent's, so it has to be said.", {
    details: { problems: [{ field: "agent", problem: "is missing" }] },
  });
}
