import { describe, expect, it } from "vitest";
import { agentPlan, controllerPlan, type PlanParts } from "./child-plan.js";

const parts: PlanParts = {
  program: "/holdfast/main.js",
  agentProgram: null,
  env: {
    PATH: "/bin",
    PGHOST: "db",
    GONE: undefined,
    HOLDFAST_TOKEN: "agent-token",
    HOLDFAST_STORE_PASSWORD: "hush",
    HOLDFAST_LOG_LEVEL: "debug",
    HOLDFAST_LOG_FORMAT: "pretty",
  },
  cwd: "/srv",
  serviceConfig: "mine.toml",
  agentUrl: null,
  ops: "/srv/ops",
  agentDrainMs: 3_000,
  stopMs: { controller: 50_000, agent: 5_000 },
};
const place = { nodeId: "a b", url: "http://a:7400" };

describe("the children of a node-controller", () => {
  it("are the two commands, the agent named after the node", () => {
    expect(controllerPlan(parts)).toMatchObject({
      words: ["/holdfast/main.js", "controller", "--service-config", "mine.toml"],
      cwd: "/srv",
      graceMs: 50_000,
      silenceMs: 0,
    });
    expect(agentPlan(parts, place)).toMatchObject({
      words:
        "/holdfast/main.js|agent|--url|http://a:7400|--name|a b-worker|--ops|/srv/ops|--drain-timeout|3000ms".split(
          "|",
        ),
      graceMs: 5_000,
      silenceMs: 5_000,
    });
  });

  it("read the usual settings where no file is named, and the agent asks where it is told to", () => {
    expect(controllerPlan({ ...parts, serviceConfig: null }).words).toEqual(["/holdfast/main.js", "controller"]);
    expect(agentPlan({ ...parts, agentUrl: "http://balancer" }, place).words).toContain("http://balancer");
  });

  it("each see only what is for them: the controller no token of the agent, the agent no way into the database", () => {
    expect(controllerPlan(parts).env).toEqual({
      PATH: "/bin",
      PGHOST: "db",
      HOLDFAST_STORE_PASSWORD: "hush",
      HOLDFAST_LOG_LEVEL: "debug",
      HOLDFAST_LOG_FORMAT: "json",
    });
    expect(agentPlan(parts, place).env).toEqual({
      PATH: "/bin",
      PGHOST: "db",
      HOLDFAST_TOKEN: "agent-token",
      HOLDFAST_LOG_LEVEL: "debug",
      HOLDFAST_LOG_FORMAT: "json",
    });
  });
});
