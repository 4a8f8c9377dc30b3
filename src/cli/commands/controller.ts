import type { Command } from "commander";
import type { Config } from "../../config/config.js";
import type { Sources } from "../../config/load-config.js";
import { isSupervised, tellSupervisor } from "../../supervisor/controller-word.js";
import { reportRole } from "../../supervisor/role-report.js";
import type { CommandLine } from "../command-line.js";
import { servingCommand } from "./serve.js";

const roles: Config["cluster"]["roles"] = Object.freeze(["gateway", "scheduler"] as const);
const silent: Disposable = { [Symbol.dispose]: () => undefined };

/** `serve` with the two roles that a controller consists of. It tells the node-controller that started it how it stands. */
export function controllerCommand(cli: CommandLine): Command {
  return servingCommand(cli, "controller", {
    settle: asController,
    attend: (node, url) => (isSupervised() ? reportRole(node, url, tellSupervisor) : silent),
    warnings: overruled,
  }).description("run the API and the scheduler, and work on no jobs; what supervise starts");
}

function asController(config: Config): Config {
  return Object.freeze({ ...config, cluster: Object.freeze({ ...config.cluster, roles }) });
}

function overruled({ cluster }: Config, sources: Sources): readonly string[] {
  const isSame = cluster.roles.length === roles.length && roles.every((role) => cluster.roles.includes(role));
  if (!Object.hasOwn(sources, "cluster.roles") || isSame) return [];
  return [`a controller has the roles ${roles.join(" and ")}: cluster.roles (${cluster.roles.join(", ")}) is not used`];
}
