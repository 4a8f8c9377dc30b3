/** Waits for `work` for at most so long; after that the answer is what `late` gives, or throws, and nobody hears of the work. */
export async function within(ms: number, work: Promise<void>): Promise<void>;
export async function within<Result, Late>(ms: number, work: Promise<Result>, late: () => Late): Promise<Result | Late>;
export async function within(ms: number, work: Promise<unknown>, late: () => unknown = () => undefined) {
  let timer: NodeJS.Timeout | undefined;
  let pending: NodeJS.Immediate | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      // After a pause timers come first: what has arrived meanwhile is read before it counts as late.
      pending = setImmediate(resolve);
    }, ms);
  });
  try {
    return await Promise.race([work, patience.then(late)]);
  } finally {
    clearTimeout(timer);
    clearImmediate(pending);
  }
}
