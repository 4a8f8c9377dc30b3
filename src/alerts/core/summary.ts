/** `{{ $labels.node }}` and `{{ $value }}`, as Prometheus writes them; it knows more, and we do not. */
const placeholder = /\{\{\s*\$(?:labels\.([a-zA-Z_][a-zA-Z0-9_]*)|(value))\s*\}\}/g;

/** What is wrong with the sentence of a rule; null where it can be filled in. */
export function refusedSummary(summary: string): string | null {
  const rest = summary.replaceAll(placeholder, "");
  return /\{\{|\}\}/.test(rest) ? 'between "{{" and "}}" only $value and $labels.name may stand' : null;
}

/** A label that the alert does not have is the empty text. */
export function filledIn(summary: string, labels: Readonly<Record<string, string>>, value: number): string {
  return summary.replaceAll(placeholder, (_, label: string | undefined) => {
    if (label === undefined) return shownNumber(value);
    return (Object.hasOwn(labels, label) ? labels[label] : undefined) ?? "";
  });
}

function shownNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const size = Math.abs(value);
  // Prometheus turns to exponents earlier among the small, and writes two digits of them.
  if (size >= 1e21 || (size !== 0 && size < 1e-4)) return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return String(value);
}

/** A text in which Prometheus finds nothing to fill in. */
export function plainTemplate(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

/** The sentence as a template of Prometheus: our placeholders stay, whatever else looks like one is plain text. */
export function asTemplate(summary: string): string {
  let written = "";
  let from = 0;
  for (const match of summary.matchAll(placeholder)) {
    written += plainTemplate(summary.slice(from, match.index)) + match[0];
    from = match.index + match[0].length;
  }
  return written + plainTemplate(summary.slice(from));
}
