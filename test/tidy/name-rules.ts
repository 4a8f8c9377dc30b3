import type { Violation } from "./source-tree.js";

/** Names that say nothing about what is inside, so that anything ends up there. */
const emptyNames = [
  "util",
  "utils",
  "helper",
  "helpers",
  "common",
  "misc",
  "type",
  "types",
  "interface",
  "interfaces",
  "manager",
];

/** Where names are ours to choose. At the root and in .github they are the tools'. */
const ourRooms = ["src", "test", "bench", "scripts", "model", "examples", "docs", "dashboard"];

/** Names that a tool or a custom gives. */
const given = ["README.md", "Dockerfile", "Makefile"];

export function nameViolations(path: string): readonly Violation[] {
  const [room = "", ...segments] = path.split("/");
  if (room === "migrations") {
    return segments.every((segment) => /^(\d{4}_[a-z0-9_]+\.sql|README\.md)$/.test(segment))
      ? []
      : [`${path} is not named like 0001_what_it_does.sql`];
  }
  if (!ourRooms.includes(room)) return [];
  return segments.flatMap((segment) => {
    if (given.includes(segment) || segment.startsWith(".")) return [];
    if (!/^[a-z0-9]+([-.][a-z0-9]+)*$/.test(segment)) return [`${path}: ${segment} is not kebab-case`];
    const [stem = ""] = segment.split(".");
    const empty = stem.split("-").find((word) => emptyNames.includes(word));
    return empty ? [`${path}: "${empty}" does not say what is inside`] : [];
  });
}
