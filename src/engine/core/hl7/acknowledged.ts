import type { AckCode } from "./acknowledgement.js";
import { utf8 } from "./charset.js";
import { type HeaderOptions, type Hl7Header, headerBegin, peekHeader } from "./header.js";
import { firstLines } from "./lines.js";
import { Hl7Segment } from "./segment.js";
import { segmentName } from "./separators.js";

export type AckRead =
  | {
      readonly kind: "read";
      readonly code: AckCode;
      /** AA and CA accept; after AE and CE it may be sent again; AR and CR refuse it for good. */
      readonly verdict: "accepted" | "error" | "rejected";
      /** Whether the receiver has only taken it in ("accept") or worked on it ("application"). */
      readonly level: AckLevel;
      /** The message that it answers, MSA-2, as it is written. */
      readonly controlId: string;
      /** What the receiver says of it: MSA-3, or else what ERR says; "" where it says nothing. */
      readonly text: string;
    }
  | { readonly kind: "malformed"; readonly reason: string };

export type AckLevel = "accept" | "application";

const verdicts = {
  AA: "accepted",
  CA: "accepted",
  AE: "error",
  CE: "error",
  AR: "rejected",
  CR: "rejected",
} as const satisfies Record<AckCode, string>;

/** MSA is the second of a handful. */
const mostLines = 1_000;

/** Judges a reply. Never throws. Of its header only the separators have to be right, for what counts is MSA. */
export function readAcknowledgement(bytes: Uint8Array, { charsetOf = () => utf8 }: HeaderOptions = {}): AckRead {
  const peeked = peekHeader(bytes, { charsetOf });
  const { header } = peeked;
  if (header === null) return { kind: "malformed", reason: `It is no acknowledgement. ${peeked.reason}` };
  const syntax = { separators: header.separators, charset: charsetOf(header.charset) };
  const lines = firstLines(bytes.subarray(headerBegin(bytes)), mostLines);
  const segment = (name: string): Hl7Segment | undefined => {
    const line = lines.find(({ body }) => segmentName(body, header.separators) === name);
    return line && new Hl7Segment(name, 1, line.body, syntax);
  };
  const msa = segment("MSA");
  if (msa === undefined) return { kind: "malformed", reason: "It is no acknowledgement: it has no MSA segment." };
  const code = msa.get("1").trim().toUpperCase();
  if (!isAckCode(code)) {
    // Two letters are a code that somebody made up; what is longer may be anything, and is not quoted.
    const said = /^[A-Z]{2}$/.test(code) ? `${JSON.stringify(code)}, which is ` : "";
    return { kind: "malformed", reason: `MSA-1 is ${said}none of ${Object.keys(verdicts).join(", ")}.` };
  }
  const level = code.startsWith("C") ? "accept" : "application";
  const text = msa.get("3") || errorText(segment("ERR"));
  return { kind: "read", code, verdict: verdicts[code], level, controlId: msa.getRaw("2"), text };
}

const isAckCode = (code: string): code is AckCode => Object.hasOwn(verdicts, code);

/** For the user, for the operator, the code's own text, and where that stood before version 2.5. */
function errorText(err: Hl7Segment | undefined): string {
  const texts = ["8", "7", "3.2", "1.4.2"].map((path) => err?.get(path) ?? "");
  return texts.find((text) => text !== "") ?? "";
}

/** Enhanced mode is what a message asks for that says in MSH-15 or MSH-16 which acknowledgements it wants. */
export function ackMode(header: Hl7Header | null): "original" | "enhanced" {
  return header === null || (header.acceptAck === "" && header.applicationAck === "") ? "original" : "enhanced";
}

/**
 * Whether the sender waits for an acknowledgement of this level. In original mode it is always the application's. In enhanced mode an
 * empty field is "NE", and a word that is not known counts as "AL": an answer too many is passed over, one too few holds
 * the sender up.
 */
export function isAckWanted(header: Hl7Header | null, level: AckLevel, isGood: boolean): boolean {
  if (header === null || ackMode(header) === "original") return level === "application";
  switch (level === "accept" ? header.acceptAck : header.applicationAck) {
    case "":
    case "NE":
      return false;
    case "ER":
      return !isGood;
    case "SU":
      return isGood;
    default:
      return true;
  }
}
