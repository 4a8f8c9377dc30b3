import { setTimeout as pause } from "node:timers/promises";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const patienceMs = 60_000;
const restMs = 20;

/** Asks whoever leads, again and again until a leader has answered, as every client has to when leaders die. */
export class JobsClient {
  private readonly urls: readonly string[];
  private at: string;

  constructor(urls: readonly string[]) {
    this.urls = urls;
    this.at = urls[0] ?? "";
  }

  /** What a leader answered, a refusal included. */
  async post(path: string, body: object): Promise<Answer> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const answer = await this.ask(path, body);
      if (answer !== null) return answer;
      if (performance.now() > deadline) throw new Error(`No leader answered to POST ${path} for ${patienceMs} ms.`);
      await pause(restMs);
    }
  }

  /** Null where nobody answered, or nobody who leads. */
  private async ask(path: string, body: object): Promise<Answer | null> {
    try {
      const response = await fetch(`${this.at}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await response.text();
      const answer = { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Answer["body"]) };
      const { error, leader_url: leader } = answer.body;
      if (response.status < 500 && error !== "NOT_LEADER") return answer;
      if (typeof leader === "string" && leader !== this.at) this.at = leader;
      else this.turn();
    } catch {
      // It was killed, before or while it answered.
      this.turn();
    }
    return null;
  }

  private turn(): void {
    this.at = this.urls[(this.urls.indexOf(this.at) + 1) % this.urls.length] ?? this.at;
  }
}
