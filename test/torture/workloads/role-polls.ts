import type { NodeTask } from "../node-order.js";
import type { Place } from "../place.js";
import type { Scene, Workload } from "../workload.js";
import { ask } from "./leader-client.js";
import { rest } from "./pace.js";

const roles = ["writer", "queue", "scheduler", "engine"] as const;
const waitMs = 1_000;

/** Asks every node, role by role, whether it leads, as a load balancer does. */
export class RolePolls implements Workload {
  readonly name = "polls";
  private readonly everyMs: number;

  constructor({ everyMs = 100 }: { readonly everyMs?: number } = {}) {
    this.everyMs = everyMs;
  }

  async prepare(): Promise<Partial<NodeTask>> {
    return await Promise.resolve({});
  }

  async run(scene: Scene): Promise<void> {
    await Promise.all(scene.places.map((place) => this.poll(scene, place)));
  }

  async settle(): Promise<void> {
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve();
  }

  private async poll({ token, log, signal }: Scene, { name, url }: Place): Promise<void> {
    const by = `poller-${name}`;
    for (let turn = 0; !signal.aborted; turn += 1) {
      const role = roles[turn % roles.length] ?? roles[0];
      const { from, to, outcome, code, body } = await ask(`${url}/role?role=${role}`, { token, waitMs });
      const common = { by, at: to, from, to, kind: "poll", role, outcome } as const;
      if (code !== undefined) {
        log({ ...common, node: name });
        log({ by, at: to, kind: "rejection", code });
      } else {
        const { node_id: node, role: posture, leader_epoch: epoch } = body;
        const known = typeof epoch === "number" ? { epoch: String(epoch) } : {};
        log({ ...common, node: String(node), primary: posture === "LEADER", ...known });
      }
      await rest(this.everyMs, signal);
    }
  }
}
