/** So much of a body is looked through: the names are in front. */
const lookedThrough = 262_144;

/** Shorter ones occur by chance, as do numbers of fields. */
const word = /[\p{L}\p{N}]{3,}/gu;

/**
 * What went wrong, without the words of the message itself: who may see that something failed need not be allowed to see whose
 * message it was. The header is no secret, nor are the names of segments. Only of HL7: of a text whose words may be names of
 * its own fields nothing would be left to read.
 */
export function withoutWordsOf(body: Buffer, reason: string): string {
  const text = body.toString("utf8", 0, lookedThrough);
  const [header = "", ...segments] = text.split(/[\r\n]+/);
  if (!header.startsWith("MSH")) return reason;
  const known = new Set(wordsOf(header));
  const said = new Set(segments.flatMap((segment) => wordsOf(segment.slice(3))));
  return reason.replace(word, (one) => (said.has(one.toLowerCase()) && !known.has(one.toLowerCase()) ? "[...]" : one));
}

function wordsOf(text: string): readonly string[] {
  return (text.match(word) ?? []).map((one) => one.toLowerCase());
}
