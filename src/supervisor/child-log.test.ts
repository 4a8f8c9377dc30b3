import { PassThrough } from "node:stream";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { labelled, onLines, relay } from "./child-log.js";

const ended = async (stream: PassThrough): Promise<void> =>
  await new Promise((resolve) => {
    stream.once("close", resolve);
    stream.end();
  });

describe("the lines of a child", () => {
  it("are found however they arrive, the last one also without its end", async () => {
    const stream = new PassThrough();
    const lines: string[] = [];
    onLines(stream, (line) => lines.push(line));
    for (const chunk of ["one\ntw", "o\n\nth", "ree"]) stream.write(chunk);
    await ended(stream);
    expect(lines).toEqual(["one", "two", "", "three"]);
  });

  it("are cut where they never end", async () => {
    const stream = new PassThrough();
    const lines: string[] = [];
    onLines(stream, (line) => lines.push(line));
    stream.write("x".repeat(150_000));
    await ended(stream);
    expect(lines.map(({ length }) => length)).toEqual([65_536, 65_536, 18_928]);
  });

  it("get the name of the child, and are otherwise as they were", () => {
    expect(labelled('{"level":30,"epoch":12345678901234567890}\r', "agent")).toBe(
      '{"level":30,"epoch":12345678901234567890,"child":"agent"}\n',
    );
  });

  it.each(["", "plain", "{}", "[1]", '{"a":1}', '{"level":30', "{level}"])("are no log where they say %j", (line) => {
    expect(labelled(line, "agent")).toBeNull();
  });

  it("become lines of the log where they are none, errors as errors", async () => {
    const written: string[] = [];
    const write = (line: string): void => void written.push(line);
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    relay(streams, "controller", { log: pino({}, { write }), write });
    streams.stdout.write('{"level":30,"msg":"own"}\nsaid\n');
    await ended(streams.stdout);
    streams.stderr.write("holdfast: wrong [USAGE]\n\n");
    await ended(streams.stderr);
    expect(written.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 30, msg: "own", child: "controller" },
      { level: 30, msg: "said", child: "controller" },
      { level: 50, msg: "holdfast: wrong [USAGE]", child: "controller" },
    ]);
  });
});
