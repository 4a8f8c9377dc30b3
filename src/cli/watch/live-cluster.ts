import { HoldfastError } from "../../errors.js";
import type { NodeClient } from "../node-client.js";
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
  private current: NodeClient;
  private known: readonly string[];
  private readonly named: string;

  constructor(client: NodeClient) {
    this.current = client.at(client.url, lookTimeoutMs);
    this.named = client.url;
    this.known = [client.url];
  }

  /** Fails only for what no other node would answer differently, such as a token that is refused. */
  async look(signal: AbortSignal): Promise<Look> {
    let reason = "";
    for (const url of [this.current.url, ...this.known.filter((other) => other !== this.current.url)]) {
      const client = this.current.at(url);
      try {
        const picture = await takePicture(client, signal);
        this.remember(client, picture);
        return { kind: "seen", picture };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof HoldfastError) || !passing.has(error.code)) throw error;
        reason = error.message;
      }
    }
    return { kind: "away", reason };
  }

  private remember(client: NodeClient, { nodes }: ClusterPicture): void {
    this.current = client;
    const living = nodes.filter(({ status }) => status !== "dead" && status !== "left");
    const urls = living.flatMap(({ url }) => (url === null ? [] : [url.replace(/\/+$/, "")]));
    // The one that was named comes last, but is never given up: it may come back.
    this.known = [...new Set([...urls, this.named])];
  }
}
