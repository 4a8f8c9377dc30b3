/** Functions are jobs of their own namespace, so that whoever has only functions is handed no other job. */
export const functionNamespace = "holdfast:functions";

/** The operation, and the capability, that a function is known by. */
export function functionOp(name: string): string {
  return `function:${name}`;
}

const longestAgent = 180;

/** The agent that runs the functions of a worker's node. */
export function functionAgentOf(agent: string): string {
  return `${agent.slice(0, longestAgent)}/functions`;
}
