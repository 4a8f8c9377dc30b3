/** "ENOENT", or what there is instead of a code. */
export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

/** For what may be gone: null then. */
export function orGone(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}
