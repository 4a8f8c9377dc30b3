import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type {
  BuildFailure,
  BuildOptions,
  Loader,
  Message,
  OnLoadArgs,
  OnLoadResult,
  Plugin,
  PluginBuild,
} from "esbuild";
import * as engine from "../../engine.js";
import { within } from "../../lifecycle/within.js";
import { cut } from "../../queue/core/failure-reason.js";
import { bundleProblem } from "./bundle-problem.js";
import type { ReadFile } from "./folder-hash.js";
import type { FoundModules } from "./folder-modules.js";

export type Bundle =
  | {
      readonly kind: "bundled";
      /** CommonJS. `exports.modules` holds a function for each module, which evaluates it. Its source map is at its end. */
      readonly text: string;
      readonly files: readonly ReadFile[];
    }
  | { readonly kind: "rejected"; readonly problems: readonly string[] };

const buildMs = 60_000;
const engineName = "holdfast/engine";
const engineNamespace = "holdfast";
/** Name by name, so that one that is not there is found by the bundling, and not by the first message. */
const engineExports = [
  `const engine = require("${engineName}");`,
  ...Object.keys(engine).map((name) => `export const ${name} = engine.${name};`),
].join("\n");
const loaders: Readonly<Record<string, Loader>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".json": "json",
  ".txt": "text",
};

/**
 * One text of the folder's modules and all that they import, packages included. Only Node's own modules and `holdfast/engine`
 * stay outside. Nothing of it is cached, so that a change anywhere is seen.
 */
export async function bundleModules({ root, files, inFolder }: FoundModules): Promise<Bundle> {
  const reader = new ModuleReader(inFolder);
  const entry = files.map((file) => `${JSON.stringify(file)}: () => require(${JSON.stringify(`./${file}`)}),`);
  try {
    const [output] = await build({
      stdin: {
        contents: `exports.modules = {\n${entry.join("\n")}\n};`,
        resolveDir: root,
        sourcefile: "folder",
        loader: "js",
      },
      absWorkingDir: root,
      bundle: true,
      write: false,
      format: "cjs",
      platform: "node",
      target: "node20",
      sourcemap: "inline",
      sourcesContent: false,
      logLevel: "silent",
      // A tsconfig.json is for the editor: what is evaluated must not depend on where a folder stands.
      tsconfigRaw: {},
      define: { "import.meta": moduleMeta },
      supported: { "dynamic-import": false },
      plugins: [reader.plugin],
    });
    return { kind: "bundled", text: output ?? "", files: reader.files };
  } catch (error) {
    if (!isBuildFailure(error))
      return {
        kind: "rejected",
        problems: [cut(`The modules cannot be bundled: ${error instanceof Error ? error.message : String(error)}`)],
      };
    const problems = error.errors.map((message) => bundleProblem(reader.asWritten(root, message)));
    return { kind: "rejected", problems: [...new Set(problems)] };
  }
}

let buildsUnderWay = 0;

/** esbuild works in a process of its own, which ends with the last build: reloads are rare, and a node should have no strangers. */
async function build(options: BuildOptions): Promise<readonly string[]> {
  const { build: run, stop } = await bundler();
  buildsUnderWay += 1;
  try {
    const late = (): never => {
      throw new Error(`bundling took longer than ${buildMs / 1000} s`);
    };
    const { outputFiles = [] } = await within(buildMs, run(options), late);
    return outputFiles.map(({ text }) => text);
  } finally {
    buildsUnderWay -= 1;
    if (buildsUnderWay === 0) await stop();
  }
}

/** Optional: it weighs as much as all of Holdfast, and who has no config folder does without. */
async function bundler(): Promise<typeof import("esbuild")> {
  try {
    return await import("esbuild");
  } catch (cause) {
    const way = 'run "npm install esbuild", or "npm install" without --omit=optional';
    throw new Error(`the optional dependency esbuild is not installed: ${way}`, { cause });
  }
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

const moduleMeta = "holdfastModule";

/** Reads each file once, and remembers what it read: the hash is over the very bytes that were bundled. */
class ModuleReader {
  readonly files: ReadFile[] = [];
  private readonly prefixes = new Map<string, number>();
  private readonly inFolder: FoundModules["inFolder"];

  constructor(inFolder: FoundModules["inFolder"]) {
    this.inFolder = inFolder;
  }

  readonly plugin: Plugin = {
    name: "config-folder",
    setup: (setup) => {
      setup.onResolve({ filter: /^holdfast(?:\/|$)/ }, ({ path, namespace }) => {
        if (path !== engineName)
          return { errors: [{ text: `A config folder imports "${engineName}", and nothing else of Holdfast` }] };
        return namespace === engineNamespace ? { path, external: true } : { path, namespace: engineNamespace };
      });
      setup.onLoad({ filter: /.*/, namespace: engineNamespace }, () => ({ contents: engineExports, loader: "js" }));
      if (this.inFolder !== null) throughLinks(setup, this.inFolder);
      setup.onLoad({ filter: /.*/, namespace: "file" }, async (args) => await this.read(args));
    },
  };

  private async read({ path }: OnLoadArgs): Promise<OnLoadResult> {
    const loader = loaders[extname(path)];
    if (loader === undefined)
      return { errors: [{ text: `Only ${Object.keys(loaders).join(", ")} files can be imported` }] };
    const content = await readFile(path);
    this.files.push({ path, content });
    const written = content.toString("utf8").replace(/^\uFEFF/, "");
    const prefix = loader === "js" || loader === "ts" ? prefixOf(path, written) : "";
    this.prefixes.set(path, prefix.length);
    return { contents: prefix + written, loader, resolveDir: dirname(path) };
  }

  /** The place in the file as its author sees it. */
  asWritten(root: string, message: Message): Message {
    const { location } = message;
    if (location === null || location.line !== 1) return message;
    const column = Math.max(0, location.column - (this.prefixes.get(join(root, location.file)) ?? 0));
    return { ...message, location: { ...location, column } };
  }
}

/** Marks our own question, which is esbuild's to answer. */
const resolving = Symbol("resolving");

function throughLinks(setup: PluginBuild, inFolder: (path: string) => string): void {
  setup.onResolve({ filter: /^\.\.?\// }, async ({ path, importer, namespace, resolveDir, kind, pluginData }) => {
    if (pluginData === resolving) return null;
    const found = await setup.resolve(path, { importer, namespace, resolveDir, kind, pluginData: resolving });
    return found.errors.length > 0 ? null : { path: inFolder(found.path) };
  });
}

/** What a module may ask about itself would be lost in a bundle. It is on the first line, so that all lines keep their numbers. */
function prefixOf(path: string, written: string): string {
  if (written.startsWith("#!")) return "";
  const folder = JSON.stringify(dirname(path));
  const file = JSON.stringify(path);
  const meta = `{url:${JSON.stringify(pathToFileURL(path).href)},dirname:${folder},filename:${file}}`;
  return [
    written.includes("import.meta") ? `var ${moduleMeta}=${meta};` : "",
    /\b__(?:dirname|filename)\b/.test(written) ? `var __dirname=${folder},__filename=${file};` : "",
  ].join("");
}
