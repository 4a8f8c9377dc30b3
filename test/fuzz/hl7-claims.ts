import { readAcknowledgement } from "../../src/engine/core/hl7/acknowledged.js";
import { acknowledge } from "../../src/engine/core/hl7/acknowledgement.js";
import { readBatch } from "../../src/engine/core/hl7/batch.js";
import type { Charset } from "../../src/engine/core/hl7/charset.js";
import { peekHeader } from "../../src/engine/core/hl7/header.js";
import { Hl7Message } from "../../src/engine/core/hl7/message.js";
import type { Random } from "../simulation/random.js";
import { writeValue } from "./hl7-grammar.js";

/** What holds for all bytes, and for all messages among them. A claim that fails throws what it says. */

export type CharsetOf = (declared: string) => Charset;

function claim(holds: boolean, says: string): void {
  if (!holds) throw new Error(`This does not hold: ${says}.`);
}

/** Claims about bytes of any kind. Answers the message, where they are one. */
export function claimsOfBytes(bytes: Buffer, charsetOf: CharsetOf): Hl7Message | null {
  const peeked = peekHeader(bytes, { charsetOf });
  const result = Hl7Message.read(bytes, { charsetOf });
  claim(peeked.kind === result.kind, "peeking and reading agree");
  readAcknowledgement(bytes, { charsetOf });
  const { parts } = readBatch(bytes);
  const isBlank = /^(?:\u00EF\u00BB\u00BF)?[\r\n]*$/.test(bytes.toString("latin1"));
  claim(isBlank || Buffer.concat(parts.map((part) => part.bytes)).equals(bytes), "the parts of a file are the file");
  claimsOfAnswer(peeked.header);
  if (result.kind === "malformed") {
    claim(/^[^\r\n]{5,300}$/.test(result.reason), "a reason is one line");
    claim(result.bytes === bytes, "malformed bytes are kept");
    return null;
  }
  claim(Buffer.from(result.message.toBytes()).equals(bytes), "what was not changed is written as it came");
  return result.message;
}

function claimsOfAnswer(header: ReturnType<typeof peekHeader>["header"]): void {
  const bytes = acknowledge(header, {
    code: "AE",
    controlId: "R",
    at: "2026",
    text: "no | \n é ^ & ~ \\",
    error: { code: "207", text: "a&b" },
  });
  const answer = readAcknowledgement(bytes);
  claim(answer.kind === "read" && answer.code === "AE", "an answer can be read");
  claim(!bytes.some((byte) => [0, 0x0b, 0x1c].includes(byte)), "an answer fits into a frame");
  const id = header?.field(10) ?? new Uint8Array(0);
  const isPlain = id.every((byte) => byte >= 0x20 && byte < 0x7f);
  claim(
    !isPlain || answer.kind !== "read" || answer.controlId === Buffer.from(id).toString(),
    "an answer names its message",
  );
}

/** Everything in it can be asked for. */
export function claimsOfReading(message: Hl7Message): void {
  const segments = message.segments();
  claim(segments[0]?.name === "MSH", "a message begins with MSH");
  for (const segment of segments) {
    claim(message.getRaw(`${segment.place}-1`) === segment.getRaw("1"), "a segment is found by its place");
    for (const field of [1, 2, 3, 7, 40]) {
      segment.getAll(String(field));
      if (field > 2) segment.get(`${field}[2].2.2`);
    }
  }
  message.flaws();
  message.text();
}

interface Place {
  readonly path: string;
  readonly segment: string;
  readonly number: number;
  readonly field: number;
  readonly repetition: number | null;
  readonly component: number | null;
  readonly subcomponent: number | null;
}

function somePlace(message: Hl7Message, random: Random): Place {
  const { name, number } = random.pick(message.segments());
  const { component, repetition, subcomponent } = message.header.separators;
  const mayRepeat = repetition !== "" && random.chance(0.4);
  const isDeep = component !== "" && random.chance(0.5);
  const isDeeper = isDeep && subcomponent !== "" && random.chance(0.3);
  const place = {
    segment: name,
    number,
    // The separators, what the message is found by and its charset have rules of their own.
    field: name === "MSH" ? random.pick([3, 4, 5, 6, 8, 13, 19, 22]) : random.whole(1, 12),
    repetition: mayRepeat ? random.whole(1, 3) : null,
    component: isDeep ? random.whole(1, 4) : null,
    subcomponent: isDeeper ? random.whole(1, 3) : null,
  };
  const deep = `${place.component === null ? "" : `.${place.component}`}${place.subcomponent === null ? "" : `.${place.subcomponent}`}`;
  return { ...place, path: `${name}[${number}]-${place.field}${mayRepeat ? `[${place.repetition}]` : ""}${deep}` };
}

/** A change is found again, also by whoever reads it anew, and nothing else has changed. */
export function claimsOfChange(message: Hl7Message, random: Random, charsetOf: CharsetOf): void {
  const place = somePlace(message, random);
  if (["BHS", "FHS"].includes(place.segment)) return;
  const { separators } = message.header;
  const value = writeValue(random, Object.values(separators).join(""));
  const changed = changedTo(message, place.path, value);
  if (changed === null) return;
  claim(changed.get(place.path) === value, `${place.path} is what it was set to`);
  const anew = Hl7Message.read(changed.toBytes(), { charsetOf });
  claim(anew.kind === "read" && anew.message.get(place.path) === value, `${place.path} reads the same when read anew`);
  claimSameElsewhere(message, changed, place);
  const removed = changed.set(place.path, null);
  claimSameElsewhere(message, removed, { ...place, repetition: null, component: null, subcomponent: null });
  const hasMovedUp = place.repetition !== null || place.component !== null;
  claim(hasMovedUp || removed.get(place.path) === "", `${place.path} is gone when it is set to null`);
  claim(
    Buffer.from(message.set(place.path, message.get(place.path)).toBytes()).equals(message.toBytes()),
    "setting what is there changes nothing",
  );
  claimsOfSegments(message, value);
}

function changedTo(message: Hl7Message, path: string, value: string): Hl7Message | null {
  try {
    return message.set(path, value);
  } catch (error) {
    claim(
      error instanceof Error && /no escape character|has no bytes for/.test(error.message),
      `only what cannot be written is refused (${String(error)})`,
    );
    return null;
  }
}

function claimsOfSegments(message: Hl7Message, value: string): void {
  const added = message.addSegment("ZZ9", [value], { after: "MSH" });
  claim(added.get("ZZ9-1") === value, "an added segment is there");
  const text = Buffer.from(message.toBytes()).toString("latin1");
  const isEnded = /[\r\n]/.test(text.slice(text.indexOf("MSH")));
  const removed = Buffer.from(added.removeSegment("ZZ9").toBytes());
  claim(!isEnded || removed.equals(message.toBytes()), "a segment that comes and goes leaves nothing behind");
}

/** Another way to take a message apart, one character a byte, to compare with. */
function linesOf(message: Hl7Message): readonly string[] {
  const text = Buffer.from(message.toBytes()).toString("latin1");
  const body = text.slice(/^(?:\u00EF\u00BB\u00BF)?[\r\n]*/.exec(text)?.[0].length);
  const isCarriageReturn = /\r|\n/.exec(body)?.[0] === "\r";
  return body.split(isCarriageReturn ? /(\r\n?)/ : /(\r\n?|\n)/);
}

function claimSameElsewhere(before: Hl7Message, after: Hl7Message, place: Place): void {
  const { field, repetition, component, subcomponent } = before.header.separators;
  const [lines, changed] = [linesOf(before), linesOf(after)];
  claim(lines.length === changed.length, "a change keeps all lines");
  const own =
    lines.flatMap((line, at) => (line.split(field, 1)[0] === place.segment ? [at] : []))[place.number - 1] ?? -1;
  claim(
    lines.every((line, at) => at === own || line === changed[at]),
    "a change keeps the other lines",
  );
  let [old, now] = [lines[own] ?? "", changed[own] ?? ""];
  const deeper: readonly (readonly [string, number | null])[] = [
    [field, place.field + (place.segment === "MSH" ? 0 : 1)],
    [repetition, place.repetition ?? (place.component === null ? null : 1)],
    [component, place.component],
    [subcomponent, place.subcomponent],
  ];
  for (const [separator, number] of deeper) {
    if (number === null || separator === "") return;
    const [oldParts, newParts] = [old.split(separator), now.split(separator)];
    for (let at = 0; at < Math.max(oldParts.length, newParts.length); at++) {
      claim(at === number - 1 || (oldParts[at] ?? "") === (newParts[at] ?? ""), `what lies beside ${place.path} stays`);
    }
    [old, now] = [oldParts[number - 1] ?? "", newParts[number - 1] ?? ""];
  }
}
