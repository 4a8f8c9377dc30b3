import { join } from "node:path";
import type { CommandResult } from "./command.js";
import { repositoryRoot } from "./demo-process.js";
import { freePort } from "./free-ports.js";
import { type InstalledProject, type InstalledProjectOptions, installedProject } from "./installed-project.js";
import { withClient } from "./postgres.js";
import { type Snippet, snippet } from "./snippets.js";
import type { StartedProgram } from "./started-program.js";

/** The blocks of one guide, by the names that its markers give them. */
export function blocksOf(guide: string): (block: string) => Snippet {
  const path = join(repositoryRoot, "docs/guides", `${guide}.md`);
  return (block) => snippet(path, block);
}

/** Runs a block of SQL as it is printed. A transaction that it leaves open behind a failure ends with its session. */
export async function runSql(url: string, { text }: Snippet): Promise<void> {
  await withClient(url, (client) => client.query(text));
}

/** The first test that follows a guide packs and installs the package, which takes a busy machine a while. */
export const patience = { timeout: 300_000 };

/** Resolves when a node that was started answers, and does so as the leader: the one may come before the other. */
export async function servesAsLeader(node: StartedProgram): Promise<void> {
  await node.line(/listening at/);
  await node.line(/"role":"scheduler".*"msg":"elected"/);
}

/**
 * A guide of docs/guides, followed by a reader who has installed the package: its blocks are run as they are printed. What a
 * test gives beside them is the environment, and files that the guide calls the reader's own.
 */
export class Guide implements AsyncDisposable {
  readonly project: InstalledProject;
  private readonly name: string;
  private readonly block: (name: string) => Snippet;
  private readonly started: StartedProgram[] = [];

  private constructor(name: string, project: InstalledProject) {
    this.name = name;
    this.block = blocksOf(name);
    this.project = project;
  }

  static async open(name: string, env: Readonly<Record<string, string>> = {}, options: InstalledProjectOptions = {}) {
    return new Guide(name, await installedProject({ ...options, env }));
  }

  /** A file of the reader's that the guide only speaks of. */
  async write(file: string, text: string): Promise<void> {
    await this.project.write({ name: file, language: "", text, line: 0 });
  }

  /** Files that the guide shows, at the places that it names. */
  async writeShown(...files: readonly string[]): Promise<void> {
    for (const file of files) await this.project.write(this.block(file));
  }

  /** Runs blocks of one language, in one shell or one module, and answers when that has ended well. */
  async run(...blocks: readonly string[]): Promise<CommandResult> {
    const result = await this.attempt(...blocks);
    if (result.code === 0) return result;
    const said = `${result.stdout}\n${result.stderr}`;
    throw new Error(`${this.name}: ${blocks.join(", ")} ended with ${result.code}:\n${said}`);
  }

  /** The same where it may end badly. */
  async attempt(...blocks: readonly string[]): Promise<CommandResult> {
    return await this.project.run(this.joined(blocks));
  }

  /** Starts blocks that go on until they are ended; disposing the guide does that. */
  async start(...blocks: readonly string[]): Promise<StartedProgram> {
    const program = await this.project.start(this.joined(blocks));
    this.started.push(program);
    return program;
  }

  /** A reader who goes through a guide writes its blocks below each other. */
  private joined(blocks: readonly string[]): Snippet {
    const found = blocks.map((block) => this.block(block));
    const [first] = found;
    if (first === undefined) throw new Error("No block is named.");
    return { ...first, text: found.map(({ text }) => text).join("\n") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.started.map((program) => program[Symbol.asyncDispose]()));
    await this.project[Symbol.asyncDispose]();
  }
}

type ReaderSettings = Readonly<
  Record<"DATABASE_URL" | "HOLDFAST_STORE_URL" | "HOLDFAST_API_PORT" | "HOLDFAST_URL", string>
>;

/** What a reader sets who has a database, and one node on this machine. */
export async function readerSettings(databaseUrl: string): Promise<ReaderSettings> {
  const port = await freePort();
  return {
    DATABASE_URL: databaseUrl,
    HOLDFAST_STORE_URL: databaseUrl,
    HOLDFAST_API_PORT: String(port),
    HOLDFAST_URL: `http://127.0.0.1:${port}`,
  };
}
