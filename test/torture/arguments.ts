import { parseArgs } from "node:util";
import { type FaultKind, faultKinds } from "./history.js";

export interface TortureArguments {
  readonly minutes: number;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  /** Where the history, the report and the summary go. */
  readonly out: string;
}

export type ParsedArguments =
  | { readonly kind: "run"; readonly run: TortureArguments }
  | { readonly kind: "refused"; readonly message: string };

const usage = "npm run torture -- [--minutes N] [--seed S] [--fault F]... [--out DIR]";

/** `chosenSeed`: for whoever names none. */
export function parseArguments(args: readonly string[], chosenSeed: number): ParsedArguments {
  const refused = (message: string): ParsedArguments => ({ kind: "refused", message });
  let values: { minutes?: string; seed?: string; fault?: string[]; out?: string };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: "string" },
        seed: { type: "string" },
        fault: { type: "string", multiple: true },
        out: { type: "string" },
      },
    }));
  } catch (error) {
    return refused(`${(error as Error).message.split(/\.\s/)[0]}. Usage: ${usage}`);
  }
  const minutes = Number(values.minutes ?? 10);
  if (!(minutes > 0 && minutes <= 24 * 60))
    return refused(`--minutes ${values.minutes}: a number above 0, up to 1440.`);
  const seed = Number(values.seed ?? chosenSeed);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    return refused(`--seed ${values.seed}: a whole number from 0 to 4294967295.`);
  const wanted = values.fault ?? [...faultKinds];
  const unknown = wanted.find((name) => !isFaultKind(name));
  if (unknown !== undefined)
    return refused(`--fault ${unknown}: there is none of that name. There are: ${faultKinds.join(", ")}`);
  const faults = faultKinds.filter((kind) => wanted.includes(kind));
  return { kind: "run", run: { minutes, seed, faults, out: values.out ?? `.holdfast/torture-${seed}` } };
}

function isFaultKind(name: string): name is FaultKind {
  return (faultKinds as readonly string[]).includes(name);
}
