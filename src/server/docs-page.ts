/** The page at /docs: it reads /openapi.json and shows it. All of it is here, and it asks nobody else. */

export const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --dim: #777; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem }
h1 { margin: 0; font-size: 1.6rem }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; text-transform: capitalize }
p { margin: .25rem 0 }
.dim { color: var(--dim) }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0 }
summary { cursor: pointer; padding: .5rem .75rem; display: flex; gap: .75rem; flex-wrap: wrap; align-items: baseline }
summary:focus-visible { outline: 2px solid Highlight }
.verb { font-weight: 700; min-width: 4rem }
code, pre { font: 13px/1.5 ui-monospace, monospace }
.inside { padding: 0 .75rem .75rem }
pre { background: var(--soft); border-radius: 6px; padding: .6rem .75rem; overflow-x: auto; margin: .25rem 0 .75rem }
table { border-collapse: collapse; margin: .25rem 0 .75rem }
th, td { text-align: left; padding: .15rem 1rem .15rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
`;

/** Only text is ever put into the page, so nothing in the document can become markup. */
export const script = `
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const typeOf = (schema) => {
  if (!schema) return "";
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const type = [schema.type].flat().filter(Boolean).join(" | ") || "any";
  return schema.type === "array" ? typeOf(schema.items) + "[]" : type;
};
const outline = (schema, indent = "") => {
  if (schema?.type === "array" && schema.items?.properties) return "[" + outline(schema.items, indent) + "]";
  if (!schema?.properties) return schema?.additionalProperties?.type ? "{ name: " + typeOf(schema.additionalProperties) + " }" : typeOf(schema);
  const lines = Object.entries(schema.properties).map(([name, inner]) => {
    const optional = schema.required?.includes(name) ? "" : "?";
    return indent + "  " + name + optional + ": " + outline(inner, indent + "  ");
  });
  return lines.length === 0 ? "{}" : "{\\n" + lines.join("\\n") + "\\n" + indent + "}";
};
const bodyOf = (holder) => Object.entries(holder?.content ?? {})[0];
const parameters = (list) => {
  const table = make("table");
  for (const { name, in: place, required, schema } of list) {
    const row = table.insertRow();
    row.append(make("td", "", name), make("td", "dim", place + (required ? "" : ", optional")));
    row.append(make("td", "", typeOf(schema)), make("td", "dim", schema?.description ?? ""));
  }
  return table;
};
const operation = (path, verb, told) => {
  const box = make("details");
  const head = make("summary");
  head.append(make("span", "verb", verb.toUpperCase()), make("code", "", path), make("span", "dim", told.summary ?? ""));
  const inside = make("div", "inside");
  inside.append(make("p", "", told.description ?? ""));
  if (told.parameters?.length) inside.append(make("p", "dim", "Parameters"), parameters(told.parameters));
  const sent = bodyOf(told.requestBody);
  if (sent) inside.append(make("p", "dim", "Body: " + sent[0]), make("pre", "", outline(sent[1].schema)));
  for (const [status, response] of Object.entries(told.responses ?? {})) {
    const [kind, { schema }] = bodyOf(response) ?? ["", {}];
    inside.append(make("p", "dim", (status === "default" ? "Errors" : status) + " " + kind));
    if (schema) inside.append(make("pre", "", outline(schema)));
  }
  box.append(head, inside);
  return box;
};
const show = (api) => {
  const main = document.querySelector("main");
  main.replaceChildren(make("p", "dim", "Version " + api.info.version + ". " + (api.info.description ?? "")));
  const sections = new Map();
  for (const [path, verbs] of Object.entries(api.paths)) {
    for (const [verb, told] of Object.entries(verbs)) {
      const tag = told.tags?.[0] ?? "other";
      if (!sections.has(tag)) {
        const section = make("section");
        section.append(make("h2", "", tag));
        sections.set(tag, section);
      }
      sections.get(tag).append(operation(path, verb, told));
    }
  }
  main.append(...sections.values());
};
fetch("openapi.json")
  .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error("status " + answer.status))))
  .then(show)
  .catch((error) => {
    document.querySelector("main").textContent = "openapi.json cannot be read: " + error.message;
  });
`;

export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast API</title>
<style>${style}</style>
</head>
<body>
<h1>Holdfast API</h1>
<main><p class="dim">Reading openapi.json ...</p></main>
<noscript><p>This page needs JavaScript; <a href="openapi.json">openapi.json</a> does not.</p></noscript>
<script>${script}</script>
</body>
</html>
`;
