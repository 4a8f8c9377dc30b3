/** Where an agent tells what happens to it: a pino logger is one. No payloads, no results, no tokens. */
export interface AgentLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

const unheard = (): void => undefined;

export const silentLog: AgentLog = { debug: unheard, info: unheard, warn: unheard, error: unheard };
