/**
 * Whatever a bench starts is ended again, last one first: after each bench, and when the run is interrupted. Children also
 * end by themselves when this process is gone, and so does the embedded server.
 */
type End = () => Promise<void> | void;

const ends: End[] = [];

export function atTheEnd(end: End): void {
  ends.push(end);
}

let underWay: Promise<void> | null = null;
let isInterrupted = false;

/** Who asks while it is under way waits for the same clean-up. */
export function cleanUp(): Promise<void> {
  underWay ??= endAll().finally(() => {
    underWay = null;
  });
  return underWay;
}

async function endAll(): Promise<void> {
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    try {
      await end();
    } catch (error) {
      console.error("clean-up:", error);
    }
  }
}

/** Ctrl-C reaches the children and the server, too, so whatever a bench then trips over is no failure of its own. */
export function wasInterrupted(): boolean {
  return isInterrupted;
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

export function cleanUpWhenInterrupted(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      console.error("interrupted: cleaning up");
      cleanUp().then(
        () => process.exit(exitCodes[signal]),
        () => process.exit(1),
      );
    });
  }
}
