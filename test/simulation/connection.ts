import type { SessionPath } from "../../src/election/core/elector-state.js";
import type { Input, LinkName } from "../../src/election/core/messages.js";
import type { Incarnation, SessionRef } from "../../src/election/core/names.js";
import type { Coverage } from "./coverage.js";
import type { Server, SessionOwner } from "./server.js";
import type { Weather } from "./weather.js";
import type { World } from "./world.js";

/** What connections need of the world around them. */
export interface Surroundings {
  readonly world: World;
  readonly server: Server;
  readonly weather: Weather;
  readonly coverage: Coverage;
}

/** The node's end. */
export interface Endpoint {
  readonly index: number;
  readonly incarnation: Incarnation;
  readonly path: SessionPath;
  /** Which ways to and from the server are cut. */
  readonly cut: { up: boolean; down: boolean };
  /** What this node's own way to the server adds to a message, at most. */
  readonly lagMs: { up: number; down: number };
  /** The server drops a cut-off peer after this long, and never before its trust has run out. */
  readonly keepAliveMs: number;
  readonly connectTimeoutMs: number;
  receive(input: Input, from: Connection): void;
}

type Way = "up" | "down";

interface Lane {
  /** Nothing arrives any more. */
  dead: boolean;
  /** In a partition TCP keeps what was sent and delivers it afterwards, unless the path forgot the connection. */
  readonly holds: boolean;
  readonly held: (() => void)[];
  lastArrival: number;
}

/**
 * One connection of a node, both ends of it. Each way is first in, first out; a request is carried out only after the one
 * before it. What was sent before the client gave up may still be carried out afterwards, as it is with TCP.
 */
export class Connection implements SessionOwner {
  readonly link: LinkName;
  readonly incarnation: Incarnation;
  /** The client's view: false once it gave the connection up or heard of its end. */
  isWanted = true;
  session: SessionRef | null = null;
  /** Replies on a connection that was given up still reach the elector: its own checks have to keep them out. */
  readonly leaksReplies: boolean;
  private readonly around: Surroundings;
  private readonly node: Endpoint;
  private readonly up: Lane;
  private readonly down: Lane;
  private freeAt = 0;
  private isWaiting = false;
  private isOpened = false;

  constructor(around: Surroundings, node: Endpoint, link: LinkName) {
    this.around = around;
    this.node = node;
    this.link = link;
    this.incarnation = node.incarnation;
    const { random } = around.world;
    const lane = (): Lane => ({ dead: false, holds: random.chance(0.6), held: [], lastArrival: 0 });
    this.up = lane();
    this.down = lane();
    this.leaksReplies = random.chance(0.5);
  }

  open(): void {
    const { world } = this.around;
    this.carry("up", () => this.accept());
    world.after(this.node.connectTimeoutMs, () => {
      if (!this.isOpened) this.hearEnd();
    });
  }

  private accept(): void {
    const { server, coverage } = this.around;
    if (!server.isUp) {
      coverage.count("message", "refused connection");
      this.carry("down", () => this.hearEnd());
      return;
    }
    this.session = server.open(this);
    if (!this.isWanted) this.dropLater();
    const { path } = this.node;
    const ref = path === "pooled" ? null : this.session;
    this.carry("down", () => {
      this.isOpened = true;
      this.node.receive({ kind: "opened", link: this.link, ref, path }, this);
    });
  }

  /**
   * Sends a statement. `run` is its transaction, and answers at once or later, until the session ends. A statement that
   * nobody waits for has no id, and is answered with null.
   */
  request(id: number | null, run: (session: SessionRef, answer: (reply: Input | null) => void) => void): void {
    const { world, weather, coverage, server } = this.around;
    const fails = id !== null && world.random.chance(weather.error);
    const alsoRuns = fails && world.random.chance(0.5);
    this.execute((session) => {
      this.isWaiting = true;
      const answer = (reply: Input | null): void => {
        if (!this.isWaiting || !server.isAlive(session)) return;
        this.isWaiting = false;
        if (fails) {
          coverage.count("message", "failed request");
          this.reply({ kind: "failed", link: this.link, id });
        } else if (reply !== null) {
          this.reply(reply);
        }
      };
      if (fails && !alsoRuns) answer(null);
      else run(session, answer);
    });
  }

  private execute(run: (session: SessionRef) => void): void {
    const { world, server, coverage } = this.around;
    this.carry("up", () => {
      this.freeAt = Math.max(this.freeAt, world.now) + server.latencyMs();
      world.at(this.freeAt, () => {
        if (this.session === null || !server.isAlive(this.session)) {
          this.carry("down", () => this.hearEnd());
          return;
        }
        if (!this.isWanted) coverage.count("message", "run after the client left");
        run(this.session);
      });
    });
  }

  private reply(input: Input): void {
    const { world, weather, coverage } = this.around;
    this.carry("down", () => this.node.receive(input, this));
    if (!world.random.chance(weather.duplicate)) return;
    coverage.count("message", "duplicate reply");
    world.after(world.random.between(0, 500), () => this.node.receive(input, this));
  }

  /** A message from the server that answers nothing. */
  push(input: Input): void {
    this.carry("down", () => this.node.receive(input, this));
  }

  /** The client gives the connection up. What it sent before may still arrive. */
  close(): void {
    if (!this.isWanted) return;
    this.isWanted = false;
    const { world } = this.around;
    this.carry("up", () => world.at(this.freeAt, () => this.noticeLeaving()));
    this.dropLater();
  }

  /** The process died: its kernel ends the connection, some moments later. */
  die(): void {
    this.isWanted = false;
    const { world } = this.around;
    world.after(world.random.between(0, 40), () => {
      if (this.node.cut.up) this.dropLater();
      else this.endAtServer("left");
    });
  }

  private noticeLeaving(): void {
    const { world } = this.around;
    // A backend that waits notices only when it checks its connection.
    world.after(this.isWaiting ? world.random.between(0, 100) : 0, () => this.endAtServer("left"));
  }

  private dropLater(): void {
    const { world } = this.around;
    world.after(this.node.keepAliveMs * world.random.between(1, 1.5), () => this.endAtServer("left"));
  }

  private endAtServer(cause: "left" | "dropped"): void {
    if (this.session !== null) this.around.server.end(this.session, cause);
  }

  endedByServer(): void {
    this.isWaiting = false;
    const { world } = this.around;
    // The end of a session is often silent, until the client uses it or its own keep-alive asks.
    if (world.random.chance(0.6)) this.carry("down", () => this.hearEnd());
    else world.after(world.random.between(1_000, 5_000), () => this.hearEnd());
  }

  hearEnd(): void {
    if (this.isWanted) this.node.receive({ kind: "closed", link: this.link }, this);
  }

  /** The partition is over: what was kept arrives now. */
  heal(way: Way): void {
    const lane = this[way];
    for (const act of lane.held.splice(0)) this.deliver(way, act);
  }

  /** The faults are over: an end that had not been heard of is heard, and a way that is dead or stuck is noticed. */
  revive(): void {
    const { world, server } = this.around;
    const isLate = Math.max(this.up.lastArrival, this.down.lastArrival, this.freeAt) > world.now + 100;
    const isDead = this.up.dead || this.down.dead || (this.isOpened && !server.isAlive(this.session));
    if (this.isWanted && (isDead || isLate)) world.after(world.random.between(1, 50), () => this.hearEnd());
    if (!this.isWanted) world.after(world.random.between(1, 50), () => this.endAtServer("left"));
  }

  private carry(way: Way, act: () => void): void {
    const { world, weather, coverage } = this.around;
    const lane = this[way];
    if (lane.dead) return;
    if (this.node.cut[way]) {
      if (lane.holds) {
        lane.held.push(act);
        coverage.count("message", "held by a partition");
      } else {
        lane.dead = true;
      }
    } else if (world.random.chance(weather.loss)) {
      coverage.count("message", way === "up" ? "lost request" : "lost reply");
      lane.dead = true;
    } else {
      this.deliver(way, act);
    }
  }

  private deliver(way: Way, act: () => void): void {
    const { world, weather, coverage } = this.around;
    const lane = this[way];
    let delayMs = weather.baseMs + world.random.unit() * (weather.jitterMs + this.node.lagMs[way]);
    if (world.random.chance(weather.late)) {
      delayMs += world.random.between(50, 4_000);
      if (way === "down") coverage.count("message", "late reply");
    }
    lane.lastArrival = Math.max(lane.lastArrival, world.now + delayMs);
    world.at(lane.lastArrival, act);
  }
}
