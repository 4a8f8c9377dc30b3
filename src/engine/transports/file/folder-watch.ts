import type { FolderEntry } from "./folder.js";

export interface WatchRules {
  /** With `*` for any characters and `?` for one. */
  readonly pattern: string;
  readonly order: "name" | "age";
  /** So many looks in a row must have found it unchanged. */
  readonly settledPolls: number;
  /** A file counts as whole when a second one, named like it with this at its end, is there. Null: when it is settled. */
  readonly marker: string | null;
}

export interface Look {
  /** Files that are whole, in order. */
  readonly whole: readonly FolderEntry[];
  /** Markers whose file is gone: left behind by a leader that ended between two steps. */
  readonly orphans: readonly FolderEntry[];
  /** What the pattern names and is no plain file, or cannot be named. Each is told once. */
  readonly strange: readonly { readonly name: string; readonly what: string }[];
}

interface Sight {
  readonly bytes: number;
  readonly modified: bigint;
  readonly unchanged: number;
}

/** Decides from one listing after the other which files are whole. It only remembers what the last listing had. */
export class FolderWatch {
  private readonly rules: WatchRules;
  private readonly matches: (name: string) => boolean;
  private sights = new Map<string, Sight>();
  private told = new Set<string>();

  constructor(rules: WatchRules) {
    this.rules = rules;
    this.matches = patternOf(rules.pattern);
  }

  look(entries: readonly FolderEntry[]): Look {
    const { marker } = this.rules;
    const names = new Set(entries.map(({ name }) => name));
    const isMarker = (name: string): boolean => marker !== null && name.endsWith(marker) && name.length > marker.length;
    const settled = this.seeAll(entries);
    const candidates = entries.filter(({ name }) => this.matches(name) && !isMarker(name));
    const files = candidates.filter(({ kind, name }) => kind === "file" && isNameable(name));
    const isWhole = ({ name }: FolderEntry): boolean =>
      marker === null ? settled.has(name) : names.has(name + marker);
    const markers = entries.filter(({ name, kind }) => kind === "file" && isMarker(name));
    const orphans = markers.filter(
      ({ name }) => settled.has(name) && !names.has(name.slice(0, -(marker?.length ?? 0))),
    );
    return {
      whole: files.filter(isWhole).toSorted(this.rules.order === "name" ? byName : byAge),
      orphans,
      strange: this.newlyStrange(candidates),
    };
  }

  /** The names that have not changed for as many looks as it takes. */
  private seeAll(entries: readonly FolderEntry[]): ReadonlySet<string> {
    const next = new Map<string, Sight>();
    const settled = new Set<string>();
    for (const { name, bytes, modified } of entries) {
      const last = this.sights.get(name);
      const isSame = last !== undefined && last.bytes === bytes && last.modified === modified;
      const unchanged = isSame ? last.unchanged + 1 : 0;
      next.set(name, { bytes, modified, unchanged });
      if (unchanged >= this.rules.settledPolls) settled.add(name);
    }
    this.sights = next;
    return settled;
  }

  private newlyStrange(candidates: readonly FolderEntry[]): Look["strange"] {
    const strange = candidates.flatMap(({ name, kind }) => {
      if (kind === "link") return [{ name, what: "it is a symbolic link, and those are not followed" }];
      if (kind === "other") return [{ name, what: "it is no plain file" }];
      return kind === "file" && !isNameable(name) ? [{ name, what: "its name is not UTF-8: rename it" }] : [];
    });
    const fresh = strange.filter(({ name }) => !this.told.has(name));
    this.told = new Set(strange.map(({ name }) => name));
    return fresh;
  }
}

/** Hidden files are those of programs that are still writing, unless the pattern asks for them. */
export function patternOf(pattern: string): (name: string) => boolean {
  const source = Array.from(pattern)
    .map((character) => {
      if (character === "*") return ".*";
      return character === "?" ? "." : character.replace(/[\\^$.|+()[\]{}/]/g, "\\$&");
    })
    .join("");
  const whole = new RegExp(`^${source.replaceAll(/(?:\.\*)+/g, ".*")}$`, "su");
  const takesHidden = pattern.startsWith(".");
  return (name) => (takesHidden || !name.startsWith(".")) && whole.test(name);
}

/** A name that is not UTF-8 reads with this character in the place of its bytes, and is not found by it. */
const isNameable = (name: string): boolean => !name.includes("\ufffd");

const byName = (one: FolderEntry, other: FolderEntry): number => {
  if (one.name === other.name) return 0;
  return one.name < other.name ? -1 : 1;
};

const byAge = (one: FolderEntry, other: FolderEntry): number => {
  if (one.modified === other.modified) return byName(one, other);
  return one.modified < other.modified ? -1 : 1;
};
