/** Where a node is reached, as the orchestrator placed it. It stays the same when the process in this place is replaced. */
export interface Place {
  /** "a", "b", "c" ... */
  readonly name: string;
  /** What the node there binds its ports on: each place has an address of its own, so the ports are the same everywhere. */
  readonly host: string;
  /** What the HTTP API of the node there is reached at. */
  readonly url: string;
  /** What the service around the node is reached at, which takes messages in for the queue. */
  readonly serviceUrl: string;
}

export const apiPort = 7400;
export const servicePort = 7480;
/** Of the first MLLP inbound; each further one has the next. */
export const mllpPort = 2575;

export function placeAt(name: string, host: string): Place {
  return { name, host, url: `http://${host}:${apiPort}`, serviceUrl: `http://${host}:${servicePort}` };
}
