import { describe, expect, it } from "vitest";
import { destinationModules, outsideWriteViolations, sweepers } from "./outside-write-rules.js";
import { destinationUnits } from "./outside-write-units.js";
import { isTest, repositoryScripts, type SourceFile } from "./source-tree.js";
import { parse, type SyntaxNode, visit } from "./syntax.js";

const sources = repositoryScripts().filter(({ path }) => path.startsWith("src/") && !isTest(path));

interface GuardedPlace extends SourceFile {
  /** The same file, where the effect happens without the guard. */
  readonly bared: SourceFile;
}

function guardedPlaces(): readonly GuardedPlace[] {
  return destinationModules(sources).flatMap((file) => {
    const found: GuardedPlace[] = [];
    visit(parse(file).program, (node) => {
      if (node.type !== "CallExpression" || (node.callee as SyntaxNode).name !== "guardedWrite") return;
      const [, effect] = node.arguments as readonly SyntaxNode[];
      const { text, path } = file;
      const called = `(${text.slice(effect?.start, effect?.end)})()`;
      found.push({ ...file, bared: { path, text: text.slice(0, node.start) + called + text.slice(node.end) } });
    });
    return found;
  });
}

describe("a destination's outside writes", () => {
  it("all go through guardedWrite", () => {
    expect(outsideWriteViolations(sources)).toEqual([]);
  });

  it("are looked for in every kind of transport", () => {
    const kinds = destinationModules(sources).map(({ path }) => path.split("/")[3]);
    expect(new Set(kinds)).toEqual(new Set(["database", "file", "http", "mllp", "sftp", "tcp", ...loose(kinds)]));
    expect(guardedPlaces().map(({ path }) => path.split("/")[3])).toEqual(
      expect.arrayContaining(["database", "file", "http", "tcp"]),
    );
  });

  it("are excused where a hidden file is swept, and such a place is there", () => {
    const units = destinationModules(sources).flatMap(destinationUnits);
    const sweeping = units.filter(({ references }) => references.some(({ name }) => name === "remove"));
    expect(sweeping.map(({ owner, name }) => `${owner}.${name}`)).toEqual(expect.arrayContaining(sweepers));
  });

  const places = guardedPlaces();
  it.each(places.map((place, index) => [index + 1, place.path, place] as const))(
    "would be found if guard %i, of %s, were not there",
    (_, path, { bared }) => {
      const changed = sources.map((file) => (file.path === path ? bared : file));
      expect(outsideWriteViolations(changed)).toContainEqual(expect.stringContaining("not within guardedWrite"));
    },
  );

  const head = `
    import { connect } from "node:net";
    import * as disk from "node:fs";
    import { rename as move, open } from "node:fs/promises";
    import { guardedWrite } from "../guarded-write.js";
    import { Pipe } from "./pipe.js";
    const socket = connect(1);
  `;
  const pipe: SourceFile = {
    path: "src/engine/transports/sample/pipe.ts",
    text: `
      export class Pipe {
        push(bytes: Buffer): void { this.flush(bytes); }
        private flush(bytes: Buffer): void { socket.write(bytes); }
        never(): void { socket.end(); }
      }
    `,
  };
  const sampled = (send: string) => {
    const path = "src/engine/transports/sample/sample-destination.ts";
    return outsideWriteViolations([{ path, text: `${head} export class Sample { ${send} }` }, pipe]);
  };

  it.each([
    ["a socket", "send() { socket.write(body); }"],
    ["the end of a request", "send() { this.request.end(body); }"],
    ["a method that is handed on", "send() { later(socket.write.bind(socket)); }"],
    ["a name in brackets", 'send() { socket["write"](body); }'],
    ["a name that is taken out", "send() { const { write } = socket; }"],
    ["a file that is renamed under another word", "async send() { await move(a, b); }"],
    ["a whole module", "async send() { disk.writeFileSync(a, body); }"],
    ["a file that is made", 'async send() { await open(a, "wx"); }'],
    ["an SFTP session", "send() { session.ext_openssh_rename(a, b, done); }"],
    ["SQL", "async send() { await transaction.run(text); }"],
    ["a commit", "async send() { await transaction.commit(); }"],
    ["a fetch", "async send() { await fetch(url); }"],
    ["a callback of its constructor", "constructor() { socket.on('drain', () => socket.write(rest)); }"],
    ["another module", "send() { new Pipe().push(body); }"],
    ["what comes later than the guard", "send() { guardedWrite(guard, () => setTimeout(() => socket.write(body))); }"],
    ["what waits behind the guard", "send() { guardedWrite(guard, async () => { await x; socket.write(body); }); }"],
    ["a function that is called elsewhere", "send() { guardedWrite(guard, write); }"],
    ["a guard that always agrees", "send() { guardedWrite({ mayWrite: () => undefined }, () => socket.write(body)); }"],
    ["a guard that is kept", "send() { guardedWrite(this.last, () => socket.write(body)); }"],
    ["a guard of its own", "send() { const guard = { mayWrite() {} }; }"],
  ])("are found where it is %s", (_, send) => {
    expect(sampled(send)).not.toEqual([]);
  });

  it("are found where guardedWrite is another one", () => {
    const text =
      "const guardedWrite = (guard, f) => f(); export class A { send() { guardedWrite(guard, () => s.write(1)); } }";
    expect(outsideWriteViolations([{ path: "src/engine/transports/a/a-destination.ts", text }])).not.toEqual([]);
  });

  it("are found in a destination that has another name, and behind a module that nobody knows", () => {
    const implementing = "class Odd implements Destination { send() { socket.write(1); } }";
    expect(outsideWriteViolations([{ path: "src/engine/odd.ts", text: implementing }])).toHaveLength(1);
    const path = "src/engine/transports/odd/odd-destination.ts";
    expect(outsideWriteViolations([{ path, text: 'import { Socket } from "node:dgram";' }])).toEqual([
      `${path}:1 imports node:dgram, whose outside writes nobody looks for`,
    ]);
  });

  it.each([
    ["within the guard", "send() { guardedWrite(guard, () => socket.write(body, () => this.done())); }"],
    ["within it, in another module", "send() { guardedWrite(question.guard, () => new Pipe().push(body)); }"],
    ["only read", 'async send() { await open(a, "r"); } other() { return text.replace(/a/, "b"); }'],
  ])("may be %s", (_, send) => {
    expect(sampled(send)).toEqual([]);
  });
});

/** Modules that stand in no folder of a kind. */
function loose(kinds: readonly (string | undefined)[]): readonly string[] {
  return kinds.filter((kind): kind is string => kind?.endsWith(".ts") === true);
}
