import type { Command } from "commander";
import { pathOf } from "./misuse.js";

/** Calls that show more than a list of options does, by the command they belong to. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  holdfast: ["holdfast demo", "holdfast serve", "holdfast cluster watch"],
  "holdfast demo": ["holdfast demo", "holdfast demo --nodes 5 --port 7500"],
  "holdfast serve": [
    "holdfast serve",
    "HOLDFAST_STORE_URL=postgres://node@db/app HOLDFAST_CLUSTER_ENABLED=true holdfast serve --ops ops",
  ],
  "holdfast agent": ["holdfast agent --name worker-1 --ops ops --url http://10.0.0.5:7400 --url http://10.0.0.6:7400"],
  "holdfast migrate": [
    "HOLDFAST_STORE_URL=postgres://owner@db/app holdfast migrate --dry-run",
    "HOLDFAST_STORE_URL=postgres://owner@db/app holdfast migrate --grant node --grant-reader monitoring",
  ],
  "holdfast doctor": ["HOLDFAST_STORE_URL=postgres://node@db/app holdfast doctor"],
  "holdfast leader step-down": ["holdfast leader step-down scheduler --to node-2"],
  "holdfast leader advance-epoch": ["holdfast leader advance-epoch scheduler --to 4712"],
  "holdfast queue pause": ["holdfast queue pause patient-7 --queue letters"],
  "holdfast queue redrive": ["holdfast queue redrive 17 18"],
  "holdfast messages list": [
    "holdfast messages list --status error --since 2h",
    'holdfast messages list --connection adt-in --type ADT --text "P1000 4711"',
  ],
  "holdfast messages replay": [
    "holdfast messages replay 48213",
    "holdfast messages replay --connection adt-in --since 2h --to lab --dry-run",
  ],
  "holdfast messages send": ["holdfast messages send adt-in --file test.hl7 --wait"],
  "holdfast connections stop": ['holdfast connections stop lab --reason "move to the new host"'],
  "holdfast jobs submit": [
    "holdfast jobs submit resize --payload '{\"image\":7}' --wait",
    "holdfast jobs submit report --run-at 2030-01-01T02:00:00Z --idempotency-key report-2030",
  ],
  "holdfast jobs list": ["holdfast jobs list --state dead --since 1d"],
  "holdfast drill crash": ["holdfast drill crash --role scheduler"],
  "holdfast drill stall": ["holdfast drill stall --role scheduler"],
  "holdfast drill clean": ["holdfast drill clean --role scheduler --yes"],
  "holdfast config check": ["holdfast config check", "holdfast config check config"],
  "holdfast token create": [
    "holdfast token create --direct --name ops --role admin",
    "holdfast token create --name worker-1 --role agent --expires 30d",
  ],
};

/** What stands below the help of a command: nothing, where its options say all. */
export function examplesOf(command: Command): string {
  const shown = examples[pathOf(command)] ?? [];
  if (shown.length === 0) return "";
  return `\n${shown.length === 1 ? "Example" : "Examples"}:\n${shown.map((call) => `  ${call}`).join("\n")}`;
}
