import { type BenchOptions, roundsOf } from "../bench.js";
import { BenchProcess } from "../bench-process.js";
import { judged, type Result, reported } from "../result.js";
import { type BenchServer, startServer } from "../server.js";
import { median } from "../statistics.js";
import { openEngine } from "./engine-run.js";
import { benchSearch } from "./engine-search.js";

const usualRounds = 5;
/** So much of a load goes through first, unmeasured. */
const warmUpShare = 0.1;
const patienceMs = 600_000;

/** What is measured of interfaces: how many, who sends to them, and what they have to reach. */
interface Subject {
  readonly name: string;
  readonly interfaces: number;
  readonly senders: number;
  readonly messages: number;
  readonly targetRate: number;
}

interface Round {
  readonly rate: number;
  readonly intakeRate: number;
  readonly insertRate: number;
  readonly echoRate: number;
  readonly ackP50: number;
  readonly ackP99: number;
  readonly nodeCpu: number;
  readonly databaseCpu: number;
  readonly peersCpu: number;
}

/** Messages from MLLP through router and handler to MLLP, each acknowledged after its commit, on both sides. */
export async function benchEngine(options: BenchOptions): Promise<readonly Result[]> {
  const messages = options.messages ?? 20_000;
  const subjects: readonly Subject[] = [
    { name: "one_interface", interfaces: 1, senders: 20, messages, targetRate: 1_000 },
    { name: "50_interfaces", interfaces: 50, senders: 50, messages: messages * 2, targetRate: 3_000 },
  ];
  const server = await startServer({ max_connections: "300" });
  const rounds = new Map(subjects.map((subject) => [subject, [] as Round[]]));
  const count = roundsOf(options, usualRounds);
  for (let round = 0; round < count; round++) {
    for (const [subject, measured] of rounds) {
      const found = await measure(server, subject);
      measured.push(found);
      options.progress(`round ${round + 1} of ${count}: ${subject.name}: ${describe(found)}`);
    }
  }
  const results = subjects.flatMap((subject) => resultsOf(subject, rounds.get(subject) ?? []));
  return [...results, ...(await benchSearch(server, messages, options))];
}

/** The engine and what it is compared with, one right after the other. */
async function measure(server: BenchServer, { interfaces, senders, messages, targetRate }: Subject): Promise<Round> {
  const load = { messages, senders, perSecond: null, delivers: true };
  const run = await openEngine(server, interfaces);
  await run.exchange({ ...load, messages: Math.ceil(messages * warmUpShare) });
  const { deliveredMs, ackedMs, cpu } = await run.exchange(load);
  const paced = { ...load, messages: Math.ceil(messages / 2), perSecond: targetRate / 2 };
  const { ackP50, ackP99 } = await run.exchange(paced);
  await run.close();
  return {
    rate: perSecond(messages, deliveredMs),
    intakeRate: perSecond(messages, ackedMs),
    insertRate: await rateOfInserts(server, senders, messages),
    echoRate: await rateOfEcho(interfaces, senders, messages),
    ackP50,
    ackP99,
    nodeCpu: cpu.node,
    databaseCpu: cpu.database,
    peersCpu: cpu.peers,
  };
}

async function rateOfInserts(server: BenchServer, sessions: number, rows: number): Promise<number> {
  const child = await new BenchProcess("bareInserts", server.url).loaded();
  await child.ask({ kind: "insert", rows: Math.ceil(rows * warmUpShare), sessions }, "inserted", patienceMs);
  await server.session.query("checkpoint");
  const { ms } = await child.ask({ kind: "insert", rows, sessions }, "inserted", patienceMs);
  child.kill();
  await server.session.query("drop table bare_inserts");
  return perSecond(rows, ms);
}

async function rateOfEcho(interfaces: number, senders: number, messages: number): Promise<number> {
  const [echo, peers] = await Promise.all(
    (["mllpEcho", "mllpPeers"] as const).map(async (program) => await new BenchProcess(program, "").loaded()),
  );
  if (echo === undefined || peers === undefined) throw new Error("there is no echo");
  const { ports } = await echo.ask({ kind: "receive", interfaces }, "receiving");
  const load = { messages, senders, perSecond: null, delivers: false };
  await peers.ask(
    { kind: "exchange", ports, load: { ...load, messages: Math.ceil(messages * warmUpShare) } },
    "exchanged",
  );
  const { ackedMs } = await peers.ask({ kind: "exchange", ports, load }, "exchanged", patienceMs);
  for (const child of [echo, peers]) child.kill();
  return perSecond(messages, ackedMs);
}

function resultsOf({ name, senders, targetRate }: Subject, rounds: readonly Round[]): readonly Result[] {
  const of = (part: keyof Round): number => median(rounds.map((round) => round[part]));
  const ratio = (to: "insertRate" | "echoRate"): number => median(rounds.map((round) => round.rate / round[to]));
  const [inserts, echo] = [of("insertRate").toFixed(0), of("echoRate").toFixed(0)];
  const unit = "messages/s";
  const half = `at ${targetRate / 2} messages/s`;
  return [
    judged(`engine_${name}_rate`, of("rate"), unit, `>= ${targetRate}`, `${senders} senders that wait for each ACK`),
    reported(
      `engine_${name}_ratio_to_inserts`,
      ratio("insertRate"),
      "x",
      `bare INSERT + COMMIT, ${senders} sessions: ${inserts}/s`,
    ),
    reported(`engine_${name}_ratio_to_echo`, ratio("echoRate"), "x", `bare MLLP echo, ${senders} senders: ${echo}/s`),
    reported(`engine_${name}_intake_rate`, of("intakeRate"), unit, "until the last ACK"),
    reported(`engine_${name}_ack_p50`, of("ackP50"), "ms", half),
    reported(`engine_${name}_ack_p99`, of("ackP99"), "ms", half),
    reported(`engine_${name}_node_cpu`, of("nodeCpu"), "us", "a message"),
    reported(`engine_${name}_database_cpu`, of("databaseCpu"), "us", "a message, the whole server"),
    reported(`engine_${name}_peers_cpu`, of("peersCpu"), "us", "a message, senders and receivers"),
  ];
}

function describe({ rate, intakeRate, insertRate, echoRate, ackP50, ackP99, ...cpu }: Round): string {
  const peers = `inserts ${insertRate.toFixed(0)}, echo ${echoRate.toFixed(0)}`;
  const acks = `ACK p50 ${ackP50.toFixed(1)} ms, p99 ${ackP99.toFixed(1)} ms at half the load`;
  const each = [cpu.nodeCpu, cpu.databaseCpu, cpu.peersCpu].map((us) => us.toFixed(0)).join(" + ");
  return `${rate.toFixed(0)} messages/s (taken in ${intakeRate.toFixed(0)}, ${peers}); ${acks}; CPU ${each} us a message`;
}

function perSecond(count: number, ms: number): number {
  return (count / ms) * 1000;
}
