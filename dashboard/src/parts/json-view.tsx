import { Name } from "./name.js";
import { ScrollArea } from "./scroll-area.js";

const mostCharacters = 20_000;

/** A value of JSON that somebody outside has written, as text. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const left = text.length - mostCharacters;
  return (
    <ScrollArea kind="code-plain" label={label}>
      {text
        .slice(0, mostCharacters)
        .split("\n")
        .map((line, index) => (
          <div key={index}>{line === "" ? " " : <Name of={line} />}</div>
        ))}
      {left > 0 ? <div class="muted">… and {left} characters more</div> : null}
    </ScrollArea>
  );
}
