import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Files by their path in the folder. */
export type Files = Readonly<Record<string, string>>;

/** A folder that is gone with its test: `await using folder = await configFolder({ "adt.ts": "..." })`. */
export class ConfigFiles implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async write(files: Files): Promise<ConfigFiles> {
    const folder = new ConfigFiles(await realpath(await mkdtemp(join(tmpdir(), "holdfast-config-"))));
    await folder.write(files);
    return folder;
  }

  /** Each whole at once: whoever looks in between sees the old one or the new one. */
  async write(files: Files): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.path, name);
      await mkdir(dirname(path), { recursive: true });
      const draft = join(tmpdir(), `holdfast-draft-${randomUUID()}`);
      await writeFile(draft, text);
      await rename(draft, path);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** A graph that works: ADT messages from one port to a laboratory. */
export const hospital: Files = {
  "adt.ts": `
import { defineHandler, defineInbound, defineRouter, send, type EngineMessage } from "holdfast/engine";
import { isAdt } from "./rules/adt.js";

interface Routed { readonly message: EngineMessage }
const routed = ({ message }: Routed): boolean => isAdt(message.type);

export const adtIn = defineInbound({ name: "adt-in", router: "adt", transport: { kind: "mllp", port: 2575 } });
export const adt = defineRouter({
  name: "adt",
  handlers: ["to-lab"],
  route: (message) => (routed({ message }) ? ["to-lab"] : []),
});
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  handle: (message) => [send("lab", message.body)],
});
`,
  "rules/adt.ts": `export const isAdt = (type: string): boolean => type.startsWith("ADT");\n`,
  "lab.mjs": `
import { defineOutbound } from "holdfast/engine";
export const lab = defineOutbound({ name: "lab", transport: { kind: "mllp", host: "10.0.0.9", port: 6661 } });
`,
};
