import type { Message } from "esbuild";
import { nearest } from "../../config/nearest.js";
import * as engine from "../../engine.js";
import { cut } from "../../queue/core/failure-reason.js";

/** What keeps a folder from being bundled, on one line: where, what, and the way out. */
export function bundleProblem({ text, location }: Message): string {
  const where = location === null ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  return cut(`${where}${said(text)}`);
}

const notExported = /^No matching export in "(?:holdfast:)?([^"]*)" for import "([^"]*)"/;
const unresolved = /^Could not resolve "([^"]*)"/;

function said(text: string): string {
  if (/top-level await/i.test(text)) {
    return "a config module cannot wait (top-level await): it only defines, and what takes time belongs into a reference or a transport.";
  }
  const [, file, name] = notExported.exec(text) ?? [];
  if (file !== undefined && name !== undefined) return `"${file}" exports no "${name}"${meant(file, name)}`;
  const path = unresolved.exec(text)?.[1];
  if (path === undefined) return /[.?!]$/.test(text) ? text : `${text}.`;
  if (/^[./]/.test(path)) return `there is no module "${path}": correct the path.`;
  return `there is no package "${path}": install it where the folder is, or write "./${path}" for a file.`;
}

function meant(file: string, name: string): string {
  const guess = file === "holdfast/engine" ? nearest(name, Object.keys(engine)) : null;
  return guess === null ? "." : `: did you mean "${guess}"?`;
}
