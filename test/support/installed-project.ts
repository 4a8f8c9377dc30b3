import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, extname, join } from "node:path";
import { transform } from "esbuild";
import type { CommandResult } from "./command.js";
import { clearAway, repositoryRoot } from "./demo-process.js";
import { installedPackage, newcomerEnvironment } from "./installed-package.js";
import { makeTestDirectory } from "./postgres.js";
import type { Snippet } from "./snippets.js";
import { type StartedProgram, startProgram } from "./started-program.js";

export interface InstalledProjectOptions {
  /** Development dependencies of ours that this project has too, by their names: express, say. */
  readonly also?: readonly string[];
  /** False: as after an install with --omit=optional. */
  readonly optional?: boolean;
  /** The path of another Node, which then runs everything here. */
  readonly node?: string;
  /** What the reader is told to set, for all that runs here. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface SnippetOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** A project of somebody who has installed the package and has nothing else. Disposing ends what runs in it, and removes it. */
export interface InstalledProject extends AsyncDisposable {
  readonly directory: string;
  /** Writes the snippet to the file that its name says, by its language where the name has no ending. Answers the path. */
  write(snippet: Snippet): Promise<string>;
  /** Writes it, runs it and waits for its end: a module with Node, a script with sh, which ends at the first command that fails. */
  run(snippet: Snippet, options?: SnippetOptions): Promise<CommandResult>;
  /** The same without the wait. Both streams come as lines. */
  start(snippet: Snippet, options?: SnippetOptions): Promise<StartedProgram>;
  /** Any other command, found as in the reader's shell: `npx`, `node`, `holdfast`. */
  command(words: readonly string[], options?: Omit<SnippetOptions, "args">): StartedProgram;
}

const endings: Readonly<Record<string, string>> = { js: ".mjs", javascript: ".mjs", typescript: ".ts", bash: ".sh" };

/** `holdfast` and `npx holdfast` are there in the shell as after an install. HOME is empty. */
export async function installedProject(options: InstalledProjectOptions = {}): Promise<InstalledProject> {
  const { also = [], optional = true, node = process.execPath, env: projectEnv = {} } = options;
  const installed = await installedPackage({ optional });
  const directory = await makeTestDirectory();
  const home = join(directory, ".home");
  await mkdir(home);
  await writeFile(join(directory, "package.json"), `${JSON.stringify({ private: true, type: "module" })}\n`);
  await linkPackages(join(installed, "node_modules"), join(directory, "node_modules"));
  for (const name of also)
    await linkPackage(join(repositoryRoot, "node_modules"), name, join(directory, "node_modules"));

  const path = [join(directory, "node_modules/.bin"), dirname(node), newcomerEnvironment()["PATH"]].join(delimiter);
  // npm tells of its own newer releases in the midst of whatever runs.
  const quiet = { NO_COLOR: "1", npm_config_update_notifier: "false" };
  const environment = { ...newcomerEnvironment(), ...quiet, PATH: path, HOME: home, ...projectEnv };
  const write = async (snippet: Snippet): Promise<string> => {
    const file = join(directory, fileNameOf(snippet));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, snippet.text);
    return file;
  };
  const command: InstalledProject["command"] = (words, { env = {} } = {}) =>
    startProgram(words, { cwd: directory, env: { ...environment, ...env }, name: words.join(" ") });
  const start: InstalledProject["start"] = async (snippet, { args = [], ...rest } = {}) =>
    command([...(await runnerOf(await write(snippet), snippet, node)), ...args], rest);
  return {
    directory,
    write,
    start,
    command,
    async run(snippet, rest) {
      await using program = await start(snippet, rest);
      return await resultOf(program);
    },
    [Symbol.asyncDispose]: () => clearAway(directory),
  };
}

/** Waits for its end, for what it wrote to either stream. */
export async function resultOf(program: StartedProgram): Promise<CommandResult> {
  const { code } = await program.exited;
  return { code, stdout: program.stdout.join("\n"), stderr: program.stderr.join("\n") };
}

function fileNameOf({ name, language }: Snippet): string {
  return extname(name) === "" ? `${name}${endings[language] ?? `.${language}`}` : name;
}

async function runnerOf(file: string, { text, line }: Snippet, node: string): Promise<readonly string[]> {
  switch (extname(file)) {
    case ".sh":
      return ["sh", "-e", file];
    case ".js":
    case ".mjs":
      return [node, file];
    case ".ts":
    case ".mts": {
      // Node 20 does not take types away by itself. Lines stay where they are.
      const { code } = await transform(text, { loader: "ts", target: "node20", format: "esm" });
      const compiled = `${file.slice(0, -extname(file).length)}.mjs`;
      await writeFile(compiled, code);
      return [node, compiled];
    }
    default:
      throw new Error(`Nothing runs ${file}, the block in line ${line}`);
  }
}

/** A link for each package, so that others can stand beside them. */
async function linkPackages(from: string, to: string): Promise<void> {
  const names = await readdir(from);
  const scoped = names.filter((name) => name.startsWith("@"));
  await mkdir(to, { recursive: true });
  await symlink(join(from, ".bin"), join(to, ".bin"));
  for (const name of names) if (!/^[.@]/.test(name)) await linkPackage(from, name, to);
  for (const scope of scoped) {
    for (const name of await readdir(join(from, scope))) await linkPackage(from, `${scope}/${name}`, to);
  }
}

async function linkPackage(from: string, name: string, to: string): Promise<void> {
  const link = join(to, name);
  await mkdir(dirname(link), { recursive: true });
  await rm(link, { force: true });
  await symlink(join(from, name), link);
}
