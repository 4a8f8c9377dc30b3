import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Duration, parseDuration } from "../config/duration.js";
import { HoldfastError } from "../errors.js";
import type { CommandLine } from "./command-line.js";
import { NodeClient } from "./node-client.js";

/** Where a command that talks to a node finds it. */
export interface NodeOptions {
  readonly url?: string;
  readonly tokenFile?: string;
}

export interface ReadingOptions extends NodeOptions {
  readonly json?: boolean;
}

const usualUrl = "http://127.0.0.1:7400";

export function withNodeOptions(command: Command): Command {
  return command
    .option("--url <url>", `the node to talk to; else HOLDFAST_URL, else ${usualUrl}`)
    .option("--token-file <file>", "a file with the token; else HOLDFAST_TOKEN");
}

export function withReadingOptions(command: Command): Command {
  return withNodeOptions(command).option("--json", "print the node's own answer");
}

export function clientOf(cli: CommandLine, options: NodeOptions): NodeClient {
  const named = options.url ?? (cli.env.HOLDFAST_URL || usualUrl);
  const url = addressOf(named, options.url === undefined ? "HOLDFAST_URL" : "--url");
  return new NodeClient({ url, token: tokenOf(cli, options) });
}

/** Several nodes of one cluster, for what lasts longer than one of them. */
export function addressesOf(cli: CommandLine, urls: readonly string[]): readonly string[] {
  if (urls.length > 0) return urls.map((url) => addressOf(url, "--url"));
  return (cli.env.HOLDFAST_URL || usualUrl).split(",").map((url) => addressOf(url.trim(), "HOLDFAST_URL"));
}

function addressOf(named: string, where: string): string {
  const url = URL.canParse(named) ? new URL(named) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new HoldfastError("USAGE", `${where} must be an address like ${usualUrl}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new HoldfastError(
      "USAGE",
      "The address of a node carries no credentials: use HOLDFAST_TOKEN or --token-file.",
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** A token is never an argument: every process of the machine could read it. */
export function tokenOf(cli: CommandLine, { tokenFile }: Pick<NodeOptions, "tokenFile">): string | null {
  const token =
    tokenFile === undefined ? (cli.env.HOLDFAST_TOKEN ?? "").trim() : readToken(resolve(cli.cwd, tokenFile));
  if (token !== "" && !/^[\x21-\x7e]+$/.test(token)) {
    throw new HoldfastError(
      "USAGE",
      "The token holds characters that no token has: check HOLDFAST_TOKEN or --token-file.",
    );
  }
  return token === "" ? null : token;
}

function readToken(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new HoldfastError("USAGE", `The token file ${path} cannot be read (${code}).`);
  }
}

/** Readers of options, for commander: what they refuse is a usage error. */
export function asDuration(text: string): Duration {
  const duration = parseDuration(text);
  if (duration === null || duration.ms <= 0)
    throw new InvalidArgumentError('It must be a duration like "500ms", "5s" or "1m".');
  return duration;
}

/** An option that takes a duration, with its default as a person would write it. */
export function durationOption(flags: string, description: string, fallback: string): Option {
  return new Option(flags, description).argParser(asDuration).default(asDuration(fallback), fallback);
}

export function asCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return count;
}

export function asEpoch(text: string): bigint {
  const epoch = /^\d{1,16}$/.test(text) ? BigInt(text) : 0n;
  if (epoch < 1n || epoch > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new InvalidArgumentError("It must be a whole number from 1 to 9007199254740991.");
  }
  return epoch;
}
