import { HoldfastError } from "../../errors.js";
import type { AgentSettings } from "./agent-settings.js";

/** A token that was just made is known to every node after a beat of its own. */
const patienceMs = 5_000;

/** Refusals of an agent that will be refused whatever it asks. */
export const hopeless: readonly string[] = ["AGENT_DELETED", "INVALID_REQUEST", "BAD_REQUEST"];

/** Judges when it is no use to ask any further. */
export class AccessPatience {
  private readonly settings: AgentSettings;
  private since: number | null = null;

  constructor(settings: AgentSettings) {
    this.settings = settings;
  }

  served(): void {
    this.since = null;
  }

  /** An error once the same refusal has lasted for too long. Null as `refusal`: nobody refused, nobody was there. */
  again(refusal: string | null): HoldfastError | null {
    if (refusal !== "UNAUTHORIZED" && refusal !== "FORBIDDEN") return null;
    const now = this.settings.clock.mono();
    this.since ??= now;
    return now - this.since >= patienceMs ? this.error(refusal) : null;
  }

  refused(code: string, message: string): HoldfastError {
    const { name } = this.settings;
    if (code !== "AGENT_DELETED") return new HoldfastError("REFUSED", `The leader refuses agent "${name}": ${message}`);
    return new HoldfastError("AGENT_DELETED", `Agent "${name}" was deleted: start it again to register it anew.`);
  }

  private error(code: "UNAUTHORIZED" | "FORBIDDEN"): HoldfastError {
    const { name, token } = this.settings;
    const make = `make one with "holdfast token create --role agent --name ${name}"`;
    if (code === "FORBIDDEN") return new HoldfastError(code, `This token does not speak for agent "${name}": ${make}.`);
    return token === null
      ? new HoldfastError(code, `The nodes take no agent without a token: ${make}, and set HOLDFAST_TOKEN.`)
      : new HoldfastError(code, "No node knows this token, or it has expired or was revoked: check HOLDFAST_TOKEN.");
  }
}
