/** A statement as the database takes it, and the names that its parameters were given, in their order. */
export interface NamedStatement {
  readonly text: string;
  readonly names: readonly string[];
}

/**
 * What is no parameter, whatever it looks like: texts, names in quotes, comments, and the two colons of a cast. One expression
 * for all of them, so that each begins where the last one ended.
 */
const tokens =
  /(?<![A-Za-z0-9_$])[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([A-Za-z_]\w*)?\$.*?\$\1\$|\/\*|::|:=|:([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)/gs;

/** `:name` stands for a parameter: the database gets $1, $2 and so on, each name once. */
export function namedStatement(written: string): NamedStatement {
  const names: string[] = [];
  let text = "";
  let from = 0;
  tokens.lastIndex = 0;
  for (let found = tokens.exec(written); found !== null; found = tokens.exec(written)) {
    const [token, , name] = found;
    if (token === "/*") {
      // Comments of this kind nest, which no expression can follow.
      tokens.lastIndex = endOfComment(written, found.index);
      continue;
    }
    if (name === undefined) continue;
    if (!names.includes(name)) names.push(name);
    text += `${written.slice(from, found.index)}$${names.indexOf(name) + 1}`;
    from = tokens.lastIndex;
  }
  return { text: text + written.slice(from), names };
}

function endOfComment(written: string, begin: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = begin;
  let depth = 0;
  for (let mark = marks.exec(written); mark !== null; mark = marks.exec(written)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return written.length;
}
