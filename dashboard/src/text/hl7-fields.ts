/** The fields of an HL7 v2 message, by the names that people use for them: `PID-5`. For looking at, never for handling. */
export interface Hl7Segment {
  readonly name: string;
  readonly fields: readonly Hl7Field[];
}

export interface Hl7Field {
  readonly name: string;
  /** Its repetitions, each on a line of its own. */
  readonly values: readonly string[];
}

export const mostSegments = 500;
const headers = new Set(["MSH", "FHS", "BHS"]);

/** Null where the text is none. */
export function hl7SegmentsOf(text: string): Hl7Segment[] | null {
  const lines = text.split(/\r\n|\r|\n/).filter((line) => line !== "");
  const [first = ""] = lines;
  if (!/^(MSH|FHS|BHS)[^\w\s]/.test(first)) return null;
  const separator = first.charAt(3);
  const repetition = first.charAt(5);
  return lines.slice(0, mostSegments).map((line) => segmentOf(line, separator, repetition));
}

function segmentOf(line: string, separator: string, repetition: string): Hl7Segment {
  const [name = "", ...parts] = line.split(separator);
  const isHeader = headers.has(name);
  // The first field of a header is the separator itself, and its second is the other delimiters.
  const numbered = isHeader ? [separator, ...parts] : parts;
  const fields = numbered.flatMap((value, index): Hl7Field[] => {
    if (value === "") return [];
    const isDelimiters = isHeader && index < 2;
    const values = isDelimiters || repetition === "" ? [value] : value.split(repetition);
    return [{ name: `${name}-${index + 1}`, values }];
  });
  return { name, fields };
}
