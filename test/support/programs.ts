import { delimiter } from "node:path";

const missing = (process.env["HOLDFAST_TEST_MISSING"] ?? "").split(",");

/** Whether a system program that a test drives is not there; scripts/test.mjs installs it where it can, and says so. */
export function isMissing(program: string): boolean {
  return missing.includes(program);
}

/** Whether network namespaces and firewalls can be made here, and processes of other users. */
export const isRoot = process.getuid?.() === 0;

/** The environment for such a program: those for administrators lie where an ordinary PATH does not lead. */
export const administratorEnv = {
  ...process.env,
  PATH: [process.env["PATH"], "/usr/sbin", "/sbin"].join(delimiter),
};
