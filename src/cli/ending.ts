import type { CommandLine, CrashOrigin } from "./command-line.js";

/** Why a process that would run on has to end. */
export type Ending =
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals }
  | { readonly kind: "crash"; readonly error: unknown };

export interface EndingWatch extends Disposable {
  readonly first: Promise<Ending>;
  /** Another signal while the first is being answered: somebody does not want to wait. */
  readonly second: Promise<NodeJS.Signals>;
  /** From now on an error for which this is true ends nothing. */
  spare(judge: SpareJudge): void;
}

export type SpareJudge = (error: unknown, origin: CrashOrigin) => boolean;

const askedToEnd: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

export function watchForEnding(cli: CommandLine): EndingWatch {
  const off: (() => void)[] = [];
  let isSpared: SpareJudge = () => false;
  let hurry: (signal: NodeJS.Signals) => void = () => undefined;
  const second = new Promise<NodeJS.Signals>((resolve) => {
    hurry = resolve;
  });
  const first = new Promise<Ending>((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) hurry(signal);
      asked = true;
      resolve({ kind: "signal", signal });
    };
    const onCrash = (error: unknown, origin: CrashOrigin): void => {
      if (isSpared(error, origin)) return;
      asked = true;
      resolve({ kind: "crash", error });
    };
    off.push(cli.onSignal(askedToEnd, onSignal), cli.onCrash(onCrash));
  });
  return {
    first,
    second,
    spare(judge) {
      isSpared = judge;
    },
    [Symbol.dispose]() {
      for (const stop of off) stop();
    },
  };
}
