import type { Random } from "../simulation/random.js";

/** Separators as they are usual, as they are not, and fewer of them. MSH-1 comes first. */
const separatorSets = [
  "|^~\\&",
  "|^~\\&#",
  "|^~\\&",
  "$%*!@",
  "|^~\\",
  "|^~",
  "|^",
  "\t;,\\&",
  "|.~\\&",
  "#*+^/-",
  "|~^&\\",
];
const names = ["PID", "PV1", "OBR", "OBX", "OBX", "OBX", "NTE", "ZPI", "Z99", "MSA", "IN1"];
const ends = ["\r", "\r", "\r", "\n", "\r\n"];
const words = [
  "",
  "",
  "A",
  "4711",
  "Müller",
  "東京",
  "ł",
  "10^3",
  "C:\\temp",
  '""',
  " ",
  "x\ty",
  "'",
  "🏥",
  "\uFEFFmark",
];
const sequences = [
  "F",
  "S",
  "T",
  "R",
  "E",
  "P",
  ".br",
  "X0D0A",
  "XC3A9",
  "XFF",
  "H",
  "N",
  "Zabc",
  "X4",
  ".sp+3",
  "C2842",
  "",
  "nonsense",
];

export interface WrittenMessage {
  readonly text: string;
  readonly separators: string;
}

/** A message that follows the grammar of HL7, with everything that makes reading it hard. */
export function writeMessage(random: Random): WrittenMessage {
  const separators = random.pick(separatorSets);
  const end = random.pick(ends);
  const segments = [header(random, separators)];
  for (let count = random.whole(0, 12); count > 0; count--) segments.push(segment(random, separators));
  const last = random.chance(0.8) ? end : "";
  return { text: segments.join(end) + last, separators };
}

function header(random: Random, separators: string): string {
  const field = separators.charAt(0);
  const component = separators.charAt(1);
  const type = random.pick(["ADT", "ORU", "ACK"]) + (random.chance(0.8) ? `${component}A01` : "");
  const values = Array.from({ length: 16 }, (_, at) => {
    if (at === 6) return type;
    if (at === 7) return `ID${random.whole(0, 9999)}`;
    if (at === 15) return random.pick(["", "", "ASCII", "UNICODE UTF-8", "8859/1", "NO SUCH CHARSET"]);
    return random.chance(0.3) ? subcomponents(random, separators) : "";
  });
  const shown = values.slice(0, random.whole(8, 16));
  return `MSH${field}${separators.slice(1)}${shown.map((value) => field + value).join("")}`;
}

function segment(random: Random, separators: string): string {
  const fields = many(random, 10, () => repetitions(random, separators));
  return [random.pick(names), ...fields].join(separators.charAt(0));
}

function repetitions(random: Random, separators: string): string {
  const count = random.chance(0.2) ? 4 : 1;
  return many(random, count, () => components(random, separators)).join(separators.charAt(2));
}

function components(random: Random, separators: string): string {
  const count = random.chance(0.3) ? 5 : 1;
  return many(random, count, () => subcomponents(random, separators)).join(separators.charAt(1));
}

function subcomponents(random: Random, separators: string): string {
  const count = random.chance(0.1) ? 3 : 1;
  return many(random, count, () => value(random, separators)).join(separators.charAt(4));
}

function value(random: Random, separators: string): string {
  const mark = separators.charAt(3);
  const word = random.pick(words);
  return random.chance(0.2) ? `${word}${mark}${random.pick(sequences)}${mark}${random.pick(words)}` : word;
}

function many(random: Random, most: number, make: () => string): readonly string[] {
  return Array.from({ length: random.whole(1, most) }, make);
}

/** A text that somebody might want to set: anything, and mostly what has to be escaped. */
export function writeValue(random: Random, separators: string): string {
  const pieces = [...separators.split(""), "\r", "\n", "\0", "\u000b", "\u001c", "\u001b", "E", "X0D", ".br", ...words];
  return many(random, 6, () => random.pick(pieces)).join("");
}
