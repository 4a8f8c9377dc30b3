/**
 * The places in this program at which it can be told to stop or to die. `at` is synchronous: between it and the next statement
 * there is nothing but the signal.
 */
export function armedPoints(say) {
  const armed = new Map();
  return {
    arm: (point, signal) => void armed.set(point, signal),
    forget: () => armed.clear(),
    at(point) {
      const signal = armed.get(point);
      if (signal === undefined) return;
      armed.delete(point);
      say({ kind: "reached", point });
      process.kill(process.pid, signal);
    },
  };
}
