import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { CommandLine, Input, Output } from "./command-line.js";

const usualColumns = 80;
const usualRows = 24;

/** The command line of this very process. */
export function processCommandLine(env: CommandLine["env"]): CommandLine {
  return {
    stdin: inputOf(process.stdin),
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env,
    cwd: process.cwd(),
    onSignal(signals, listener) {
      for (const signal of signals) process.on(signal, listener);
      return () => {
        for (const signal of signals) process.off(signal, listener);
      };
    },
    onCrash(listener) {
      const thrown = (error: unknown): void => listener(error, "exception");
      const rejected = (error: unknown): void => listener(error, "rejection");
      process.on("uncaughtException", thrown);
      process.on("unhandledRejection", rejected);
      return () => {
        process.off("uncaughtException", thrown);
        process.off("unhandledRejection", rejected);
      };
    },
  };
}

/** Resolves when all that was written has left the process. */
export async function flushed(): Promise<void> {
  const written = (stream: NodeJS.WriteStream): Promise<void> =>
    new Promise((resolve) => {
      if (stream.destroyed || stream.writableLength === 0) resolve();
      else stream.write("", () => resolve());
    });
  await Promise.all([written(process.stdout), written(process.stderr)]);
}

function outputOf(stream: WriteStream): Output {
  // Whoever read the output has gone away (`| head`): there is nobody left to tell.
  stream.on("error", () => undefined);
  return {
    write: (text) => void stream.write(text),
    get isTTY() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns || usualColumns;
    },
    get rows() {
      return stream.rows || usualRows;
    },
  };
}

function inputOf(stream: ReadStream): Input {
  return {
    get isTTY() {
      return stream.isTTY === true;
    },
    async readLine() {
      const lines = createInterface({ input: stream });
      try {
        for await (const line of lines) return line;
        return null;
      } finally {
        lines.close();
      }
    },
    onKey(listener) {
      const take = (keys: Buffer): void => {
        for (const key of keys.toString("utf8")) listener(key);
      };
      stream.setRawMode(true);
      stream.on("data", take);
      stream.resume();
      return () => {
        stream.off("data", take);
        stream.setRawMode(false);
        stream.pause();
      };
    },
  };
}
