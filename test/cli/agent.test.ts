import { describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { AgentProcess } from "../support/agent-process.js";
import { runHere } from "../support/command.js";
import { freePort } from "../support/free-ports.js";
import { JobLedger } from "../support/job-ledger.js";
import { StandInLeader } from "../support/stand-in-leader.js";

const patienceMs = 20_000;
const until = async (condition: () => boolean): Promise<void> => {
  if (!(await waitUntil(condition, patienceMs))) throw new Error(`It did not come true: ${String(condition)}`);
};

const double = "export default ({ n }) => ({ n: 2 * n });";
/** Takes as long as its payload says, whatever its signal says. */
const hold = `export default async (payload, { signal, progress }) => {
  progress("begun");
  await new Promise((resolve) => setTimeout(resolve, payload.ms));
  return signal.aborted ? "aborted" : "held";
};`;
const crash = "export default () => new Promise(() => setTimeout(() => { throw new Error('outside'); }, 1));";

describe("holdfast agent", () => {
  it("works through what there is, with its token, and says nothing of payloads", async () => {
    await using leader = await StandInLeader.start();
    const jobs = Array.from({ length: 50 }, (_, n) => leader.ledger.submit("double", { n, secret: "hunter2" }));
    await using agent = await AgentProcess.spawn({
      urls: [leader.url],
      operations: { "double.mjs": double },
      args: ["--concurrency", "8", "--namespace", "images", "--capability", "gpu", "--capability", "ssd"],
      env: { HOLDFAST_TOKEN: "hf_secret", HOLDFAST_LOG_LEVEL: "debug" },
    });
    await until(() => leader.ledger.isDone());
    expect(jobs.map(({ result }) => result)).toEqual(jobs.map((_, n) => ({ n: 2 * n })));
    expect(leader.heard.find(({ path }) => path === "/v1/leases")).toMatchObject({
      body: { agent: "worker-1", namespace: "images", capabilities: ["gpu", "ssd"], max_tasks: 8 },
      authorization: "Bearer hf_secret",
    });
    agent.kill("SIGTERM");
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    const lines = agent.output
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.at(-1)).toMatchObject({ msg: "stopped", leased: 50, accepted: 50, stale: 0, unreported: 0 });
    expect(agent.output).not.toMatch(/hunter2|hf_secret/);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "at %s finishes what runs, reports it, takes nothing more and exits with 0",
    async (signal) => {
      await using leader = await StandInLeader.start();
      const job = leader.ledger.submit("hold", { ms: 1_000 });
      await using agent = await AgentProcess.spawn({
        urls: [leader.url],
        operations: { "hold.mjs": hold },
        args: ["--concurrency", "1"],
      });
      await until(() => job.state === "leased");
      agent.kill(signal);
      await agent.said("a second signal stops at once");
      expect(await agent.exited).toEqual({ code: 0, signal: null });
      expect(job).toMatchObject({ state: "succeeded", result: "held", accepted: [1] });
    },
  );

  it("gives back what does not end in time, so that it costs no attempt", async () => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("hold", { ms: 60_000 });
    await using agent = await AgentProcess.spawn({
      urls: [leader.url],
      operations: { "hold.mjs": hold },
      args: ["--drain-timeout", "50ms"],
    });
    await until(() => job.state === "leased");
    agent.kill("SIGTERM");
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(job).toMatchObject({ state: "queued", attempts: 0, given_back: 1, accepted: [] });
  });

  it("stops at once at the second signal, and exits with 1", async () => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("hold", { ms: 60_000 });
    await using agent = await AgentProcess.spawn({ urls: [leader.url], operations: { "hold.mjs": hold } });
    await until(() => job.state === "leased");
    agent.kill("SIGTERM");
    await agent.said("a second signal stops at once");
    agent.kill("SIGTERM");
    expect(await agent.exited).toEqual({ code: 1, signal: null });
    expect(job).toMatchObject({ state: "leased", accepted: [] });
  });

  it("waits for its leader, goes on to the next when that one dies, and loses no result", async () => {
    const ledger = new JobLedger();
    // What is handed out in the very moment of a crash is handed out again.
    ledger.ttlMs = 3_000;
    const port = await freePort();
    await using standby = await StandInLeader.start(ledger);
    const url = `http://127.0.0.1:${port}`;
    standby.fault = () => ({ kind: "not_leader", leaderUrl: null });
    await using agent = await AgentProcess.spawn({ urls: [url, standby.url], operations: { "hold.mjs": hold } });
    await agent.said("no leader serves this agent: it looks for one");
    await using leader = await StandInLeader.start(ledger, port);
    const jobs = Array.from({ length: 40 }, () => ledger.submit("hold", { ms: 5 }));
    await until(() => jobs.some(({ state }) => state === "succeeded"));
    await leader.stop();
    standby.fault = () => null;
    await until(() => ledger.isDone());
    expect(jobs.map(({ state, accepted }) => [state, accepted.length])).toEqual(jobs.map(() => ["succeeded", 1]));
  });

  it("speaks TLS with whom it trusts, and with nobody else", async () => {
    await using leader = await StandInLeader.startSecure();
    const job = leader.ledger.submit("double", { n: 21 });
    const options = { urls: [leader.url], operations: { "double.mjs": double } };
    await using stranger = await AgentProcess.spawn(options);
    await stranger.said("self-signed certificate");
    expect(leader.heard).toEqual([]);
    const ca = new URL("../support/tls/localhost.crt", import.meta.url).pathname;
    await using _agent = await AgentProcess.spawn({ ...options, env: { NODE_EXTRA_CA_CERTS: ca } });
    await until(() => job.state === "succeeded");
    expect(job.result).toEqual({ n: 42 });
  });

  it("exits with 1 when an operation fails outside of its call", async () => {
    await using leader = await StandInLeader.start();
    const job = leader.ledger.submit("crash");
    await using agent = await AgentProcess.spawn({ urls: [leader.url], operations: { "crash.mjs": crash } });
    expect(await agent.exited).toEqual({ code: 1, signal: null });
    expect(agent.output).toContain("an error got past everybody: this agent stops");
    expect(job.accepted).toEqual([]);
  });

  it("exits with 1 and the way out where no node knows its token", async () => {
    await using leader = await StandInLeader.start();
    leader.fault = () => ({ kind: "refuse", status: 401, error: "UNAUTHORIZED" });
    await using agent = await AgentProcess.spawn({ urls: [leader.url], operations: { "double.mjs": double } });
    expect(await agent.exited).toEqual({ code: 1, signal: null });
    expect(agent.output).toMatch(
      /\nholdfast: The nodes take no agent without a token: make one with .*\[UNAUTHORIZED\]\n$/,
    );
  });

  it("does not start with an operation that cannot be loaded, and says which", async () => {
    await using agent = await AgentProcess.spawn({
      urls: ["http://127.0.0.1:9"],
      operations: { "bad.mjs": "export default (" },
    });
    expect(await agent.exited).toEqual({ code: 2, signal: null });
    expect(agent.output).toMatch(
      /^holdfast: The operation bad\.mjs cannot be loaded: SyntaxError: .* \[BAD_SETTINGS\]\n$/,
    );
  });
});

describe("holdfast agent, called wrongly,", () => {
  const ops = ["--ops", "ops"];
  const name = ["--name", "worker-1"];

  it.each([
    [[...ops], 'required option "--name <name>" not specified. See "holdfast agent --help". [USAGE]'],
    [[...name], 'required option "--ops <dir>" not specified. See "holdfast agent --help". [USAGE]'],
    [[...name, ...ops, "--url", "nowhere"], "--url must be an address like http://127.0.0.1:7400. [USAGE]"],
    [
      [...name, ...ops, "--concurrency", "0"],
      'option "--concurrency <n>" argument "0" is invalid. It must be a whole number above 0. [USAGE]',
    ],
    [
      [...name, ...ops, "--drain-timeout", "soon"],
      'option "--drain-timeout <duration>" argument "soon" is invalid. It must be a duration like "500ms", "5s" or "1m". [USAGE]',
    ],
    [[...name, ...ops], "The operations of /nowhere/ops: the folder cannot be read (ENOENT). [BAD_SETTINGS]"],
  ])("%j, says so in one line, and exits with 2", async (args, said) => {
    expect(await runHere(["agent", ...args])).toEqual({ code: 2, stdout: "", stderr: `holdfast: ${said}\n` });
  });

  it("with a log level that there is not, says which there are", async () => {
    const { code, stderr } = await runHere(["agent", ...name, ...ops], { env: { HOLDFAST_LOG_LEVEL: "loud" } });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^holdfast: HOLDFAST_LOG_LEVEL .*\[BAD_SETTINGS\]\n$/);
  });
});
