import { readFileSync } from "node:fs";
import { parse, TomlError, type TomlTable } from "smol-toml";
import { HoldfastError } from "../errors.js";

const largestFile = 1_048_576;

/** The tables of a file, as it spells them. A syntax error is one line: where, and what; never the text around it. */
export function readSettingsFile(path: string): TomlTable {
  const text = readText(path);
  try {
    // Keys of advisory locks have 64 bits.
    return parse(text, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Not as the cause: it quotes the lines around it, and one of them may hold a password.
    const what = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    throw new HoldfastError("BAD_SETTINGS", `${path}:${error.line}:${error.column}: ${what}.`);
  }
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new HoldfastError("BAD_SETTINGS", `${path}: ${reasons[code] ?? `cannot be read (${code})`}.`);
  }
  if (bytes.length > largestFile) throw new HoldfastError("BAD_SETTINGS", `${path}: is longer than 1 MiB.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HoldfastError("BAD_SETTINGS", `${path}: is not UTF-8 text.`);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "is a directory",
  EACCES: "may not be read by this user",
};
