import { Secret } from "./secret.js";

const longest = 80;

/** A value that was refused, as an error shows it: short, on one line, and without what looks like credentials. */
export function shown(value: unknown): string {
  if (typeof value === "string") return showText(value);
  if (Array.isArray(value)) return cut(`[${value.map(shown).join(", ")}]`);
  if (value instanceof Secret) return String(value);
  if (value instanceof Date) return "a date";
  if (typeof value === "object" && value !== null) return "a section";
  return typeof value === "function" || typeof value === "symbol" ? `a ${typeof value}` : String(value);
}

function showText(text: string): string {
  return /:\/\/.*@/s.test(text) ? "a URL with credentials" : cut(JSON.stringify(text));
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}...`;
}
