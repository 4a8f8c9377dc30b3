/**
 * A literal that nothing in it has to be escaped for: a long text is not gone through letter by letter. Its tag is one that
 * the text does not have, nor makes together with what follows it.
 */
export function quoted(text: string): string {
  let tag = "$hf$";
  for (let more = 0; text.includes(tag) || text.endsWith(tag.slice(0, -1)); more += 1) tag = `$hf${more}$`;
  return `${tag}${text}${tag}`;
}

/** What a caller sends may hold anything; a text of the database holds no zero and no half of a character. */
export function storable(text: string): string {
  return /[\0\p{Surrogate}]/u.test(text) ? Buffer.from(text).toString().replaceAll("\0", "\uFFFD") : text;
}
