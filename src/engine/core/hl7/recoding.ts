import { joined } from "./bytes.js";
import { type Charset, fitsCharset, scannable } from "./charset.js";
import { pieces } from "./element.js";
import type { Syntax } from "./segment.js";
import { encoded } from "./writing.js";

/** A line in another charset. A field that does not fit the present one is not text that could be said anew: it stays as it is. */
export function recodedLine(body: Uint8Array, { separators, charset }: Syntax, to: Charset): Uint8Array {
  const anew = (bytes: Uint8Array): Uint8Array => encoded(charset.decode(bytes), to, "The message");
  if (fitsCharset(charset, body)) return anew(body);
  const scan = scannable(charset, body);
  const spans = pieces(scan, { from: 0, to: body.length }, separators.field);
  return joined(
    spans.flatMap((span, at) => {
      const field = body.subarray(span.from, span.to);
      const separator = body.subarray(span.from - (at === 0 ? 0 : 1), span.from);
      return [separator, fitsCharset(charset, field) ? anew(field) : field];
    }),
  );
}
