/** The table of rows in README.md: written from the rows, and compared with them so that it cannot go stale. */

const begin = "<!-- rows: written by `node model/run.mjs --write` -->";
const end = "<!-- end of rows -->";

const head = [
  "| Row | Property | Switches | Outcome | States searched | What it shows |",
  "|---|---|---|---|---:|---|",
];

/** What the README says, by id. Throws when it has no table, for then it says nothing. */
export function readTable(readme) {
  const [, rest] = readme.split(begin);
  const [table] = (rest ?? "").split(end);
  if (rest === undefined || table === rest) throw new Error(`the README lacks the marks "${begin}" and "${end}"`);
  const lines = table.split("\n").filter((line) => line.startsWith("|") && !head.includes(line));
  return new Map(
    lines.map((line) => {
      const cells = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      const [id = "", property, defines, expect, states = "", says] = cells.map((cell) => cell.replaceAll("`", ""));
      return [id, { property, defines, expect, says, states: Number(states.replaceAll(",", "")) }];
    }),
  );
}

/** In what the README and the rows differ, as sentences. The states are left out: another spin may count otherwise. */
export function disagreements(readme, { rows, properties }) {
  const table = readTable(readme);
  const found = [];
  for (const line of propertyLines(properties)) if (!readme.includes(line)) found.push(`the README lacks "${line}"`);
  for (const row of rows) {
    const said = table.get(row.id);
    if (!said) {
      found.push(`${row.id} is not in the README`);
      continue;
    }
    const wanted = { property: row.property, defines: row.defines.join(" "), expect: row.expect, says: row.says };
    for (const [name, value] of Object.entries(wanted)) {
      if (said[name] !== value) found.push(`${row.id}: the README has ${name} "${said[name]}", the row "${value}"`);
    }
  }
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of table.keys()) if (!ids.has(id)) found.push(`${id} is in the README, but is no row`);
  return found;
}

export function writeTable(readme, { rows, properties }, statesOf) {
  readTable(readme);
  const code = (text) => (text === "" ? "" : `\`${text}\``);
  const lines = rows.map(({ id, property, defines, expect, says }) => {
    const states = statesOf(id).toLocaleString("en-US");
    return `| ${code(id)} | ${code(property)} | ${code(defines.join(" "))} | ${expect} | ${states} | ${says} |`;
  });
  const before = readme.slice(0, readme.indexOf(begin) + begin.length);
  return [before, "", ...propertyLines(properties), "", ...head, ...lines, "", readme.slice(readme.indexOf(end))].join(
    "\n",
  );
}

function propertyLines(properties) {
  return Object.entries(properties).map(([name, says]) => `- \`${name}\`: ${says}`);
}
