import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** One place in what was built, and what stands there instead. */
export interface Replacement {
  /** From the root of the package: "dist/queue/intake.js", "migrations/0001_election.sql". */
  readonly file: string;
  readonly old: string;
  readonly new: string;
}

/** A copy of the built package that differs from it in so much, and is gone when it is disposed of. */
export interface SabotagedBuild extends AsyncDisposable {
  readonly dist: string;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Refuses a replacement that does not match exactly once: a sabotage that changes nothing would prove nothing. */
export async function makeSabotagedBuild(replacements: readonly Replacement[]): Promise<SabotagedBuild> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-sabotage-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (const part of ["dist", "migrations"]) await linkTree(join(root, part), join(folder, part));
    await link(join(root, "package.json"), join(folder, "package.json"));
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    for (const replacement of replacements) await replace(folder, replacement);
  } catch (error) {
    await remove();
    throw error;
  }
  return { dist: join(folder, "dist"), [Symbol.asyncDispose]: remove };
}

async function replace(folder: string, { file, old, new: other }: Replacement): Promise<void> {
  const path = join(folder, file);
  const text = await readFile(path, "utf8");
  const matches = text.split(old).length - 1;
  if (matches !== 1) throw new Error(`${file} has ${matches} places that read as follows, and not one:\n${old}`);
  // The file is one with that of the true build until it is taken away here.
  await unlink(path);
  await writeFile(
    path,
    text.replace(old, () => other),
  );
}

/** What only editors and debuggers read is left out. Where files cannot be linked, as over two file systems, they are copied. */
async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else if (!/\.(map|d\.ts)$/.test(entry.name)) {
      await link(source, target).catch(async () => await writeFile(target, await readFile(source)));
    }
  }
}
