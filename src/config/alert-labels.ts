import type { Setting } from "./setting.js";

const labelName = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const labelValue = /^[^\p{C}]{1,200}$/u;
const mostLabels = 20;

/** `alertname` and `severity` are what the rule is called, and how bad it is: no label says otherwise. */
export function alertLabels(doc: string): Setting<Readonly<Record<string, string>>> {
  const mustBe = `a table of at most ${mostLabels} labels (A-Z, a-z, 0-9 and "_"; not alertname, severity or __x), each a text of 1 to 200`;
  return {
    fallback: Object.freeze({}),
    doc,
    fromText: (text) => text,
    read: (given) => {
      if (typeof given !== "object" || given === null || Array.isArray(given)) return { mustBe };
      const entries = Object.entries(given);
      const isSound = ([name, value]: [string, unknown]): boolean =>
        labelName.test(name) && !["alertname", "severity"].includes(name) && labelValue.test(String(value));
      const sound = entries.every((entry) => isSound(entry) && typeof entry[1] === "string");
      if (!sound || entries.length > mostLabels) return { mustBe };
      return { value: Object.freeze(Object.fromEntries(entries as [string, string][])) };
    },
  };
}
