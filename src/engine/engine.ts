import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { errorText, HoldfastError, isFailure, NotLeaderError } from "../errors.js";
import { aborted } from "../lifecycle/aborted.js";
import { pause } from "../lifecycle/pause.js";
import { untilHere } from "../lifecycle/until-here.js";
import type { HandlerContext, Message } from "../queue/message.js";
import { Queue } from "../queue/queue.js";
import type { FenceToken } from "../store/fence-token.js";
import type { LaneName } from "../store/queue-contract.js";
import type { Loaded } from "./config-folder/config-folder.js";
import type { Connections } from "./connections.js";
import { connectionOf, stages } from "./core/lane-names.js";
import { deliver } from "./deliver.js";
import { buryDeparted, departureOf } from "./departed.js";
import { DoubtfulLanes } from "./doubtful-lanes.js";
import type { EngineLeaderTerm, EngineParts } from "./engine-parts.js";
import { engineRole } from "./engine-role.js";
import { type EngineTerm, openTerm } from "./engine-term.js";
import type { Graph } from "./graph.js";
import { meantOf } from "./meant-name.js";
import { ReferenceSets } from "./reference-sets.js";
import { retryRulesOf } from "./retry-rules.js";
import { SharedState } from "./shared-state.js";
import { handle, route, type StepParts } from "./steps.js";
import { type Replayed, TakingIn } from "./taking-in.js";
import { connectionsOf, type SeenConnection, toldConnections } from "./told-connections.js";
import type { Arrival, Receipt } from "./transports/transport.js";

/** The largest message that is kept; each connection may take less. */
const maxBodyBytes = 64 * 1_048_576;
/** More lanes than any graph has: none waits for a slot behind another that hangs. */
const lanesAtOnce = 4_096;
/** A delivery has bounds of its own, and a step of the graph takes no time at all. */
const stepTimeoutMs = 600_000;
/** What was sent may still be answered after the role is given up: then the next leader does not send it again. */
const lingerMs = 1_000;
/** How often a node that does not lead looks at what handlers remember, and at the reference sets. */
const followMs = 5_000;

/** The message graph of a node. It runs where the node leads role `engine`; elsewhere it stands by, warm and silent. */
export class Engine {
  readonly queue: Queue;
  private readonly parts: EngineParts;
  private readonly takingIn: TakingIn;
  private readonly state: SharedState;
  private readonly sets: ReferenceSets;
  private readonly doubtful = new DoubtfulLanes();
  private readonly inDoubt = new Set<string>();
  private readonly steps: StepParts;
  private loaded: Loaded;
  private term: EngineTerm | null = null;

  constructor(parts: EngineParts) {
    const { node, book } = parts;
    this.parts = parts;
    this.loaded = parts.loaded;
    this.state = new SharedState(book);
    this.sets = new ReferenceSets(book);
    this.steps = {
      graph: () => this.graph,
      placeOf: (error: unknown) => this.loaded.placeOf(error),
      state: this.state,
      references: this.sets,
      maxBodyBytes,
      counted: parts.metrics.counted.bind(parts.metrics),
      isDoubtful: (message: Message) => this.doubtful.has(message),
      doubtfulMs: parts.doubtfulMs,
    };
    const options = {
      name: engineRole,
      role: engineRole,
      stages: Object.values(stages),
      maxBodyBytes,
      concurrency: lanesAtOnce,
      handlerTimeoutMs: stepTimeoutMs,
    };
    this.queue = new Queue(node, options, {
      prepare: async (fence, signal) => await this.prepare(fence, signal),
      admits: (lane) => this.admits(lane),
      rulesOf: (lane) => retryRulesOf(this.graph, lane),
      settleEach: new Set([stages.outbound]),
      isDoubtful: (message) => this.doubtful.has(message),
      express: new Map([[stages.routed, (message: Message) => handle(message, this.steps)]]),
      remembers: true,
      lingerMs,
      isInDoubt: ({ stage, lane }) => stage === stages.outbound && this.inDoubt.has(lane),
      buried: ({ lane }) => parts.metrics.counted(connectionOf(lane), "error"),
    });
    this.takingIn = new TakingIn({
      queue: this.queue,
      book,
      now: () => node.clock.wall(),
      reused: (connection, control_id) =>
        node.log.warn({ connection, control_id }, "a sender has given one control id to two messages: both are kept"),
    });
    this.process();
    parts.metrics.connections(connectionsOf(this.graph));
    parts.metrics.watch(() => this.term?.connections.views() ?? []);
    parts.metrics.watchReferences(() => {
      const failures = this.term === null ? null : parts.references.failures;
      return new Map([...this.graph.references.keys()].map((name) => [name, failures?.has(name) === true]));
    });
    node.role(engineRole).lead(async (term) => await this.lead(term));
  }

  get graph(): Graph {
    return this.loaded.graph;
  }

  /** Where in the modules a timer or a promise was left behind that has failed; null where others had a part in it. */
  placeOfStray(error: unknown, origin: "exception" | "rejection"): string | null {
    return this.loaded.placeOfStray(error, origin);
  }

  /** How the connections are doing: the leader's own, or as the leader last told. */
  async connections(): Promise<readonly SeenConnection[]> {
    const own = this.term?.connections.views().map((view) => ({ ...view, toldAt: null }));
    return own ?? (await toldConnections(this.parts.connectionBook, this.graph));
  }

  /** What only the leader can do with its connections; elsewhere NotLeaderError. */
  get steering(): Pick<Connections, "start" | "stop" | "restart"> {
    return this.leading().connections;
  }

  /** From here on this graph runs, on a standby as on the leader. What is unchanged is not interrupted. */
  async apply(loaded: Loaded): Promise<void> {
    this.loaded = loaded;
    this.parts.metrics.connections(connectionsOf(loaded.graph));
    await this.term?.connections.run();
  }

  /** Takes a message in as if it had come from outside. */
  async take(connection: string, arrival: Arrival, replay: Replayed | null = null): Promise<Receipt> {
    this.leading();
    const inbound = this.graph.inbounds.get(connection);
    if (inbound === undefined) {
      const end = meantOf(connection, [...this.graph.inbounds.keys()]);
      throw new HoldfastError("NOT_FOUND", `There is no inbound "${connection}" in the configuration${end}`);
    }
    return this.counted(connection, await this.takingIn.accept(inbound, arrival, () => null, replay));
  }

  /** On a node that does not lead: what handlers remember and the reference sets, so that a promotion finds them here. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.parts.node as { readonly clock: Clock; readonly log: Logger };
    while (!signal.aborted) {
      try {
        if (this.term === null) await this.state.follow();
        await this.sets.follow(new Set(this.graph.references.keys()));
      } catch (error) {
        if (!isFailure(error, "DATABASE_AWAY")) log.warn({ err: error }, "the engine's shared data could not be read");
      }
      await pause(clock, followMs, signal);
    }
  }

  private process(): void {
    const { steps } = this;
    const { counted } = steps;
    this.queue.process(stages.ingress, async (message: Message) => await Promise.resolve(route(message, steps)));
    this.queue.process(stages.routed, async (message: Message) => await Promise.resolve(handle(message, steps)));
    this.queue.process(stages.outbound, async (message: Message, context: HandlerContext) => {
      const { connections } = this.leading();
      return await deliver(message, context, {
        graph: () => this.graph,
        outbounds: connections.outbounds,
        gate: this.parts.node.role(engineRole).gate,
        halt: async (outbound, reason) => await connections.halt(outbound, reason),
        inDoubt: this.inDoubt,
        counted,
      });
    });
  }

  private async lead({ signal }: EngineLeaderTerm): Promise<void> {
    try {
      await this.queue.opened({ signal });
      const { term } = this;
      if (term === null) return;
      const upkeep = term.upkeep.run();
      const building = this.parts.references.keep(() => this.graph, signal);
      // Leadership that is lost meanwhile tears down what has been started, and waits for no source that is still starting.
      await Promise.race([term.connections.run(), aborted(signal)]);
      this.parts.node.log.info({ role: engineRole, epoch: Number(term.epoch) }, "the graph runs here");
      await aborted(signal);
      await Promise.all([this.tearDown(), upkeep, building]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.tearDown();
    }
  }

  /** All sources at once: a node that does not lead takes nothing in. */
  private async tearDown(): Promise<void> {
    const { term } = this;
    if (term === null) return;
    term.over.abort();
    await term.connections.close(lingerMs);
    if (this.term === term) this.term = null;
  }

  private async prepare(fence: FenceToken, signal: AbortSignal): Promise<boolean> {
    const { book, node, references, convergence } = this.parts;
    const { log } = node;
    const isNew = this.term?.epoch !== fence.epoch;
    if (isNew) {
      await this.tearDown();
      this.term = openTerm(this.parts, fence, signal, {
        graph: () => this.graph,
        accept: async (name, arrival, ack) => await this.accept(name, arrival, ack),
        outboundsChanged: () => this.queue.reconsider(),
        number: (ids, used) => this.takingIn.number(ids, used),
        trouble: (what, error) => this.trouble(what, error),
      });
    }
    const { term } = this;
    return await untilHere(node.clock, signal, async () => {
      if (isNew) this.takingIn.number(await book.nextMessageId(fence), () => term?.upkeep.openPartition());
      const lanes = await this.queue.lanes();
      this.doubtful.read(lanes);
      // Its last leader may have known more than this node does.
      convergence().heard(await book.configVersion());
      const buried = convergence().isBehind ? 0 : await buryDeparted(fence, { book, lanes, graph: this.graph, log });
      await this.state.reload();
      await term?.connections.read(fence);
      await references.begin(fence, this.graph, this.sets, signal);
      return buried > 0;
    });
  }

  /** The definition is looked up at each arrival: a reload may have given the connection another router. */
  private async accept(name: string, arrival: Arrival, ack: (receipt: Receipt) => Buffer | null): Promise<Receipt> {
    const inbound = this.graph.inbounds.get(name);
    if (inbound === undefined) return { kind: "refused", reason: "the connection left the configuration", retry: true };
    const stop = this.parts.metrics.startAck();
    const receipt = await this.takingIn.accept(inbound, arrival, ack);
    stop();
    return this.counted(name, receipt);
  }

  private counted(connection: string, receipt: Receipt): Receipt {
    if (receipt.kind === "accepted" && !receipt.duplicate) this.parts.metrics.counted(connection, "received");
    return receipt;
  }

  /** What the newest configuration may know, and this node does not, waits until it knows it too. */
  private admits({ stage, lane }: LaneName): boolean {
    if (this.parts.convergence().isBehind && departureOf(this.graph, stage, lane) !== null) return false;
    return stage !== stages.outbound || this.term?.connections.isStopped(connectionOf(lane)) !== true;
  }

  private leading(): EngineTerm {
    this.parts.node.role(engineRole).gate.requireLeader();
    if (this.term !== null) return this.term;
    throw new NotLeaderError("The graph is being started by its new leader: try again.", { role: engineRole });
  }

  private trouble(what: string, error: unknown): void {
    const { log, id } = this.parts.node;
    const reason = errorText(error);
    log.warn({ role: engineRole, node_id: id, reason }, what);
  }
}
