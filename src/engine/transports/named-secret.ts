import { type Environment, readEnvironment } from "../../config/environment.js";
import { HoldfastError } from "../../errors.js";

/** A secret by the name of its variable, read when a connection starts: the settings themselves never hold it. */
export function namedSecret(variable: string, whose: string, environment: Environment = readEnvironment()): string {
  const value = environment[variable];
  if (value !== undefined && value !== "") return value;
  throw new HoldfastError(
    "BAD_SETTINGS",
    `${whose} needs the variable ${variable}, which is not set: set it on every node.`,
  );
}
