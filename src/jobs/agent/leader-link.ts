import { mayFollow } from "../../access/token-travel.js";
import type { Clock } from "../../election/clock.js";
import { pause } from "../../lifecycle/pause.js";
import { type Fields, judge, type Verdict } from "../core/agent/reply.js";
import { afterTrip, type Route, routeOf, type Trip } from "../core/agent/route.js";
import type { AgentLog } from "./agent-log.js";
import { HttpCaller } from "./http-caller.js";

export interface LinkParts {
  readonly seeds: readonly [string, ...string[]];
  readonly token: string | null;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: AgentLog;
}

/** A question to whoever leads. */
export interface Question<Answer> {
  readonly path: string;
  readonly body: unknown;
  readonly timeoutMs: number;
  /** Nobody wants to know any more. */
  readonly signal: AbortSignal;
  /** Null where the answer makes no sense: then whoever gave it counts as absent. */
  readonly read: (body: Fields) => Answer | null;
  /** Refusals that are an answer. After any other the same is worth asking again, of another node or later. */
  readonly final: readonly string[];
}

/** What came of a question over HTTP. */
export type Reached<Answer> =
  | { readonly kind: "served"; readonly answer: Answer; readonly sentAt: number }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** Ask again: the way to the leader is another by now, or the pause before the next try is. */
  | { readonly kind: "again"; readonly refusal: string | null }
  | { readonly kind: "called_off" };

/**
 * The way to the leader, shared by all that an agent asks. It follows the leader that other nodes name, goes through the
 * addresses it knows when nobody serves, and rests in between; so whoever asks in a loop does not spin.
 */
export class LeaderLink {
  private readonly parts: LinkParts;
  private readonly caller: HttpCaller;
  private route: Route;
  /** Those who wait long at one address, and have to hear that the leader is elsewhere. */
  private readonly guests = new Set<{ readonly at: string; readonly leave: () => void }>();
  private isAway = false;
  private leader: string | null = null;
  private readonly distrusted = new Set<string>();

  constructor(parts: LinkParts) {
    this.parts = parts;
    this.caller = new HttpCaller(parts.token);
    this.route = routeOf(parts.seeds);
  }

  async ask<Answer>(question: Question<Answer>): Promise<Reached<Answer>> {
    const { clock } = this.parts;
    const { signal } = question;
    while (this.route.restUntil > clock.mono() && !signal.aborted) {
      await pause(clock, this.route.restUntil - clock.mono(), signal);
    }
    if (signal.aborted) return { kind: "called_off" };
    const { at, turn } = this.route;
    const sentAt = clock.mono();
    const verdict = await this.post(at, question);
    if (signal.aborted && verdict.kind === "later") return { kind: "called_off" };
    return this.take(question, { at, turn, sentAt, verdict });
  }

  /** Whether anybody is still there. One that is frozen hears nothing, and those who wait at it would never know. */
  async probe(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { at, turn, failures } = this.route;
    if (failures > 0) return; // It is being looked for already.
    const reply = await this.caller.send({ url: `${at}/health`, timeoutMs, signal });
    if (reply.kind === "unreached" && !signal.aborted) this.failed({ at, turn }, reply.reason);
  }

  close(): void {
    this.caller.close();
  }

  private async post(at: string, question: Question<unknown>): Promise<Verdict> {
    const { path, body, timeoutMs, signal } = question;
    const moved = new AbortController();
    const leave = (): void => moved.abort();
    const guest = { at, leave };
    this.guests.add(guest);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return judge(await this.caller.send({ url: `${at}${path}`, body, timeoutMs, signal: moved.signal }));
    } finally {
      signal.removeEventListener("abort", leave);
      this.guests.delete(guest);
    }
  }

  private take<Answer>(
    { read, final }: Question<Answer>,
    asked: { readonly at: string; readonly turn: number; readonly sentAt: number; readonly verdict: Verdict },
  ): Reached<Answer> {
    const { verdict, sentAt, at, turn } = asked;
    switch (verdict.kind) {
      case "served": {
        const answer = read(verdict.body);
        if (answer === null) return this.failed(asked, "its answer makes no sense");
        this.serves(at, turn);
        return { kind: "served", answer, sentAt };
      }
      case "refused":
        if (!final.includes(verdict.code)) return this.failed(asked, verdict.message, verdict.code);
        this.serves(at, turn);
        return verdict;
      case "elsewhere":
        this.travel(turn, { kind: "redirected", to: this.reachable(verdict.leaderUrl) });
        return { kind: "again", refusal: null };
      case "later":
        return this.failed(asked, verdict.reason);
    }
  }

  private failed(
    { at, turn }: { readonly at: string; readonly turn: number },
    reason: string,
    refusal: string | null = null,
  ): Reached<never> {
    if (turn === this.route.turn && !this.isAway) {
      this.isAway = true;
      this.parts.log.warn({ url: at, reason }, "no leader serves this agent: it looks for one");
    }
    this.travel(turn, { kind: "failed" });
    return { kind: "again", refusal };
  }

  private serves(at: string, turn: number): void {
    this.travel(turn, { kind: "served" });
    if (this.leader !== at) this.parts.log.info({ url: at }, "a leader serves this agent");
    else if (this.isAway) this.parts.log.info({ url: at }, "the leader serves this agent again");
    this.leader = at;
    this.isAway = false;
  }

  private travel(turn: number, trip: Trip): void {
    const { clock, random } = this.parts;
    const before = this.route.at;
    this.route = afterTrip(this.route, { turn, trip, now: clock.mono(), jitter: random() });
    if (this.route.at !== before) for (const guest of this.guests) if (guest.at !== this.route.at) guest.leave();
  }

  /** The leader's address, where the token may go there. */
  private reachable(url: string | null): string | null {
    const { seeds, token, log } = this.parts;
    if (url === null || token === null || seeds.some((seed) => mayFollow(seed, url))) return url;
    if (!this.distrusted.has(url)) {
      this.distrusted.add(url);
      log.warn(
        { url },
        "the leader's address is not asked: a token goes elsewhere only over HTTPS; name it with --url",
      );
    }
    return null;
  }
}
