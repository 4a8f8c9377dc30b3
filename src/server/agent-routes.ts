import Type, { type Static } from "typebox";
import { HoldfastError } from "../errors.js";
import { type Agent, agentState } from "../jobs/core/agent.js";
import { agentSilence } from "../jobs/job-settings.js";
import { requireAgent } from "./bound-agent.js";
import { fromDatabase, toDatabase } from "./database-wait.js";
import { epoch, exactly, noQuery, nullable, secondsOf, secondsOrNull, time } from "./fields.js";
import { agentName, bigOf, capabilityNames, namespaceName, statedEpoch } from "./job-answers.js";
import { deletedAgent } from "./lease-answers.js";
import { cut, pageQuery, pageSchema } from "./page.js";
import { change, type RouteApp, type RouteParts, routesOf } from "./routes.js";

const states = ["active", "stale", "dead", "deleted"] as const;

const agentSchema = exactly({
  agent: Type.String(),
  namespace: Type.String(),
  state: Type.Enum([...states]),
  capabilities: Type.Array(Type.String()),
  tasks: Type.Integer({ description: "How many it said it works on" }),
  version: nullable(Type.String()),
  first_seen: time,
  last_heartbeat: time,
  deleted_at: nullable(time),
});

export type AgentAnswer = Static<typeof agentSchema>;

const tags = ["agents"];

/** Agents: every node shows them; they beat at the leader. */
export const agentRoutes = routesOf(listAgents, heartbeat, removeAgent);

function listAgents(app: RouteApp, { node, limits }: RouteParts): void {
  const { jobs } = node;

  app.get(
    "/v1/agents",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every agent, and whether it was heard of lately, by the database's clock",
        querystring: exactly({ state: Type.Optional(Type.Enum([...states])), ...pageQuery }),
        response: { 200: pageSchema(agentSchema) },
      },
    },
    async ({ query }) => {
      const agents = await fromDatabase(limits.databaseWaitMs, jobs.book.agents());
      const shown = agents.map(showAgent).filter(({ state }) => (query.state ?? state) === state);
      return cut(
        query,
        shown,
        ({ agent }) => agent,
        (agent) => agent,
      );
    },
  );
}

function heartbeat(app: RouteApp, { node, limits }: RouteParts): void {
  const { jobs } = node;

  app.post(
    "/v1/agents/heartbeat",
    {
      config: { permission: "agent", audited: false },
      schema: {
        tags,
        summary: "An agent lives, and says what it can and does",
        querystring: noQuery,
        body: exactly({
          agent: agentName,
          namespace: Type.Optional(namespaceName),
          capabilities: Type.Optional(capabilityNames),
          version: Type.Optional(Type.String({ minLength: 1, maxLength: 100, pattern: "^[\\x20-\\x7e]*$" })),
          tasks: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
          registers: Type.Optional(
            Type.Boolean({ description: "The first of a process: brings an agent back that was deleted" }),
          ),
          leader_epoch: Type.Optional(statedEpoch),
        }),
        response: { 200: exactly({ agent: Type.String(), state: Type.Enum([...states]), leader_epoch: epoch }) },
      },
    },
    async ({ body, caller }) => {
      const agent = requireAgent(caller, body.agent);
      const leaderEpoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      const { namespace = "default", capabilities = [], version = null, tasks = 0, registers = false } = body;
      const beat = { agent, namespace, capabilities, version, tasks, registers };
      const answer = await toDatabase(node, limits.databaseWaitMs, async () => await jobs.heartbeat(beat));
      if (answer.kind === "deleted") throw deletedAgent(agent);
      return { agent, state: "active" as const, leader_epoch: Number(leaderEpoch) };
    },
  );
}

function removeAgent(app: RouteApp, parts: RouteParts): void {
  const { jobs } = parts.node;

  app.delete(
    "/v1/agents/:agent_name",
    {
      config: { permission: "control" },
      schema: {
        tags,
        summary: "Takes an agent out: what it has goes to others, and it gets nothing until it registers anew",
        params: exactly({ agent_name: agentName }),
        querystring: exactly({ leader_epoch: Type.Optional(statedEpoch) }),
        response: { 200: exactly({ agent: Type.String(), state: Type.Enum([...states]), leader_epoch: epoch }) },
      },
    },
    async ({ params: { agent_name: agent }, query }) => {
      const leaderEpoch = jobs.requireEpoch(bigOf(query.leader_epoch));
      const answer = await change(parts, async () => await jobs.removeAgent(agent));
      if (answer.kind === "unknown") throw new HoldfastError("NOT_FOUND", `There is no agent "${agent}".`);
      return { agent, state: "deleted" as const, leader_epoch: Number(leaderEpoch) };
    },
  );
}

function showAgent(agent: Agent): AgentAnswer {
  return {
    agent: agent.name,
    namespace: agent.namespace,
    state: agentState(agent, agentSilence),
    capabilities: [...agent.capabilities],
    tasks: agent.tasks,
    version: agent.version,
    first_seen: secondsOf(agent.firstSeen),
    last_heartbeat: secondsOf(agent.lastHeartbeat),
    deleted_at: secondsOrNull(agent.deletedAt),
  };
}
