import type { Random } from "../simulation/random.js";

type Mutation = (bytes: Buffer, random: Random, separators: string) => Buffer;

const somewhere = (bytes: Buffer, random: Random): number => random.whole(0, bytes.length);

function inserted(bytes: Buffer, at: number, added: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)]);
}

/** Where one of the separators stands; -1 where none does. */
function placeOfSeparator(bytes: Buffer, random: Random, separators: string): number {
  return bytes.indexOf(random.pick([...separators.split(""), "\r", "\n"]), somewhere(bytes, random));
}

/** Bytes that no text should hold: of broken UTF-8, of frames, of nothing. */
const oddBytes = [
  [0],
  [0xff],
  [0xc3],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
  [0xc0, 0x80],
  [0x0b],
  [0x1c, 0x0d],
  [0x1b],
  [0x80],
];

const mutations: readonly Mutation[] = [
  (bytes, random) => bytes.subarray(0, somewhere(bytes, random)),
  (bytes, random) => bytes.subarray(somewhere(bytes, random)),
  (bytes, random, separators) => {
    const at = placeOfSeparator(bytes, random, separators);
    return at < 0 ? bytes : inserted(bytes, at, bytes.subarray(at, at + 1));
  },
  (bytes, random, separators) => {
    const at = placeOfSeparator(bytes, random, separators);
    const other = Buffer.from(random.pick([...separators.split(""), "\r", "\n", "X", "\r\n"]));
    return at < 0 ? bytes : Buffer.concat([bytes.subarray(0, at), other, bytes.subarray(at + 1)]);
  },
  (bytes, random) => inserted(bytes, somewhere(bytes, random), Buffer.from(random.pick(oddBytes))),
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) changed[random.whole(0, changed.length - 1)] = random.whole(0, 255);
    return changed;
  },
  (bytes, random) => {
    const from = somewhere(bytes, random);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(Math.min(bytes.length, from + random.whole(1, 9)))]);
  },
  (bytes, random) => {
    const [from, to] = [somewhere(bytes, random), somewhere(bytes, random)];
    return inserted(bytes, somewhere(bytes, random), bytes.subarray(Math.min(from, to), Math.max(from, to)));
  },
  (bytes, random) => inserted(bytes, 0, Buffer.from(random.pick(["\uFEFF", "\r\n", "\n\n", " ", "\u000b"]))),
];

const hugeField = Buffer.alloc(1 << 20, "0123456789abcdef");

/** The bytes after some accidents, often none. Now and then a field of a megabyte. */
export function mutate(bytes: Buffer, random: Random, separators: string): Buffer {
  let mutated = bytes;
  for (let count = random.chance(0.2) ? 0 : random.whole(1, 4); count > 0; count--) {
    mutated = random.pick(mutations)(mutated, random, separators);
  }
  return random.chance(0.005) ? inserted(mutated, somewhere(mutated, random), hugeField) : mutated;
}
