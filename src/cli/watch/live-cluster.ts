import { HoldfastError } from "../../errors.js";
import type { NodeClient } from "../node-client.js";
import { oneLine } from "../paint.js";
import { type ClusterPicture, takePicture } from "./cluster-picture.js";

export type Look =
  | { readonly kind: "seen"; readonly picture: ClusterPicture }
  /** Nobody answers, and what the last of them said. */
  | { readonly kind: "away"; readonly reason: string };

const lookTimeoutMs = 2_000;

/** Whoever cannot answer now, while another node might. */
const passing = new Set(["NODE_AWAY", "DATABASE_AWAY", "DATABASE_READ_ONLY", "DATABASE_REFUSED", "TOO_BUSY", "CLOSED"]);

/** Looks at the cluster through one node, and through another as soon as that one is gone. */
export class LiveCluster {
  /** The node that was named: whether the token may go to another is judged by this one. */
  private readonly named: NodeClient;
  private current: string;
  private known: readonly string[];

  constructor(client: NodeClient) {
    this.named = client;
    this.current = client.url;
    this.known = [client.url];
  }

  /** Fails only for what no other node would answer differently, such as a token that is refused. */
  async look(signal: AbortSignal): Promise<Look> {
    let reason = "";
    let skipped = "";
    for (const url of [this.current, ...this.known.filter((other) => other !== this.current)]) {
      const client = this.named.at(url, lookTimeoutMs);
      if (client === null) {
        skipped = ` ${oneLine(url)} is not asked: a token goes elsewhere only over HTTPS, or within this machine.`;
        continue;
      }
      try {
        const picture = await takePicture(client, signal);
        this.remember(picture);
        return { kind: "seen", picture };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof HoldfastError) || !passing.has(error.code)) throw error;
        reason = error.message;
      }
    }
    return { kind: "away", reason: `${reason}${skipped}` };
  }

  private remember({ via, nodes }: ClusterPicture): void {
    this.current = via;
    const living = nodes.filter(({ status }) => status !== "dead" && status !== "left");
    const urls = living.flatMap(({ url }) => (url === null ? [] : [url.replace(/\/+$/, "")]));
    // The one that was named comes last, but is never given up: it may come back.
    this.known = [...new Set([...urls, this.named.url])];
  }
}
