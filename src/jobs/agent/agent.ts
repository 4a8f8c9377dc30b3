import { type AgentOptions, agentSettings } from "./agent-settings.js";
import { AgentWork } from "./agent-work.js";
import { HttpWorkLink } from "./http-work-link.js";

/** Works on jobs over HTTP alone: it finds the leader by itself, also after a failover. */
export class Agent extends AgentWork {
  constructor(options: AgentOptions) {
    const settings = agentSettings(options);
    super(settings, new HttpWorkLink(settings));
  }
}
