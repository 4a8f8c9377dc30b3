/** The metrics of one node, in Prometheus' text format. */
export interface NodeMetrics {
  readonly nodeId: string;
  readonly text: string;
}

/**
 * One text for all nodes: each sample gets a label `node`, and a family's samples stand together below its one HELP and
 * TYPE, as the format demands.
 */
export function mergeMetrics(nodes: readonly NodeMetrics[]): string {
  const families = new Map<string, { readonly head: Map<string, string>; readonly samples: string[] }>();
  for (const { nodeId, text } of nodes) {
    let samples: string[] | null = null;
    for (const line of text.split("\n")) {
      const comment = /^# (HELP|TYPE) (\S+)/.exec(line);
      if (comment !== null) {
        const [, kind = "", name = ""] = comment;
        const family = families.get(name) ?? { head: new Map<string, string>(), samples: [] };
        families.set(name, family);
        if (!family.head.has(kind)) family.head.set(kind, line);
        ({ samples } = family);
      } else if (line !== "" && samples !== null) {
        samples.push(withNode(line, nodeId));
      }
    }
  }
  const texts = [...families.values()].map(({ head, samples }) => [...head.values(), ...samples].join("\n"));
  return texts.length === 0 ? "" : `${texts.join("\n\n")}\n`;
}

function withNode(sample: string, nodeId: string): string {
  const label = `node="${nodeId.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;
  const brace = sample.indexOf("{");
  const space = sample.indexOf(" ");
  if (brace === -1 || space < brace) return `${sample.slice(0, space)}{${label}}${sample.slice(space)}`;
  const separator = sample[brace + 1] === "}" ? "" : ",";
  return `${sample.slice(0, brace + 1)}${label}${separator}${sample.slice(brace + 1)}`;
}
