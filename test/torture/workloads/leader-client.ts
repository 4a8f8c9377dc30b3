import { monotonicMs } from "../clock.js";
import type { Outcome } from "../history.js";
import type { Place } from "../place.js";
import type { Scene } from "../workload.js";

export interface Asked {
  readonly from: number;
  readonly to: number;
  readonly outcome: Outcome;
  /** 0 where nothing came back. */
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Of a refusal, or of what went wrong on the way. */
  readonly code?: string;
}

const patienceMs = 5_000;

/**
 * Asks one node after the other until it finds the leader, as a client has to. One call is one request: whoever gets "unknown" asks again
 * with the same key, if at all.
 */
export class LeaderClient {
  private readonly by: string;
  private readonly scene: Pick<Scene, "places" | "token" | "log">;
  private readonly urlOf: (place: Place) => string;
  private at: number;

  constructor(
    by: string,
    scene: Pick<Scene, "places" | "token" | "log">,
    {
      urlOf = ({ url }: Place) => url,
      first = 0,
    }: { readonly urlOf?: (place: Place) => string; readonly first?: number } = {},
  ) {
    this.by = by;
    this.scene = scene;
    this.urlOf = urlOf;
    this.at = first % scene.places.length;
  }

  async post(path: string, body: object, waitMs = patienceMs): Promise<Asked> {
    const place = this.scene.places[this.at];
    if (place === undefined) throw new Error("There is no place to ask.");
    const asked = await ask(`${this.urlOf(place)}${path}`, { token: this.scene.token, body, waitMs });
    if (asked.code !== undefined) {
      this.scene.log({ by: this.by, at: asked.to, kind: "rejection", code: asked.code });
      this.turn(asked.body);
    }
    return asked;
  }

  /** To the leader that the answer names, else to the next. */
  private turn({ leader_url: leader }: Asked["body"]): void {
    const named = this.scene.places.findIndex(({ url }) => url === leader);
    this.at = named === -1 || named === this.at ? (this.at + 1) % this.scene.places.length : named;
  }
}

/**
 * One request. "done" is a success. "refused" is an answer that says the request itself cannot be. Everything else leaves it open, also
 * "I do not lead": whoever says so may have lost the role while it was writing.
 */
export async function ask(
  url: string,
  { token, body, waitMs = patienceMs }: { readonly token: string; readonly body?: object; readonly waitMs?: number },
): Promise<Asked> {
  const from = monotonicMs();
  try {
    const response = await fetch(url, {
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(waitMs),
    });
    const text = await response.text();
    const { status } = response;
    const answered = text === "" ? {} : (JSON.parse(text) as Asked["body"]);
    const asked = { from, to: monotonicMs(), status, body: answered };
    if (response.ok) return { ...asked, outcome: "done" };
    const isFinal = status >= 400 && status < 500 && status !== 408 && answered.error !== "NOT_LEADER";
    const code = typeof answered.error === "string" ? answered.error : String(status);
    return { ...asked, outcome: isFinal ? "refused" : "unknown", code };
  } catch (error) {
    return { from, to: monotonicMs(), outcome: "unknown", status: 0, body: {}, code: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  const { name, cause } = error as { readonly name: string; readonly cause?: { readonly code?: string } };
  return name === "TimeoutError" ? "NO_ANSWER" : (cause?.code ?? name);
}
