/** What a YAML file is made of here. */
export type YamlValue = string | readonly YamlValue[] | { readonly [key: string]: YamlValue };

/** Writes lists and maps in blocks, and quotes every text that is more than a word. Empty maps and lists are left out. */
export function writeYaml(value: { readonly [key: string]: YamlValue }): string {
  return `${mapLines(value).join("\n")}\n`;
}

function mapLines(map: { readonly [key: string]: YamlValue }): readonly string[] {
  return Object.entries(map).flatMap(([key, value]) => {
    if (typeof value === "string") return [`${scalar(key)}: ${scalar(value)}`];
    const lines = linesOf(value);
    return lines.length === 0 ? [] : [`${scalar(key)}:`, ...lines.map((line) => (line === "" ? "" : `  ${line}`))];
  });
}

function linesOf(value: Exclude<YamlValue, string>): readonly string[] {
  if (!isList(value)) return mapLines(value);
  return value.flatMap((item) => {
    const [first = "", ...more] = typeof item === "string" ? [scalar(item)] : linesOf(item);
    return [`- ${first}`, ...more.map((line) => `  ${line}`)];
  });
}

const isList = (value: Exclude<YamlValue, string>): value is readonly YamlValue[] => Array.isArray(value);

/** Words that some readers of YAML take for something else than a text. */
const taken = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

function scalar(text: string): string {
  if (/^[a-z_][a-z0-9_-]*$/i.test(text) && !taken.test(text)) return text;
  if (/^[1-9][0-9]*(ms|s|m|h|d)$/.test(text)) return text;
  return unprintable.test(text) ? escaped(text) : `'${text.replaceAll("'", "''")}'`;
}

/** Some of it would end a line. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;

function escaped(text: string): string {
  const characters = Array.from(text, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    if (!unprintable.test(character)) return character.replace(/["\\]/, "\\$&");
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
  return `"${characters.join("")}"`;
}
