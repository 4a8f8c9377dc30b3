/** The form of server-sent events: what a listener reads, and what only keeps its connection alive. */

export const keepAlive = ": keep-alive\n\n";

/** `id` is what a listener that comes back says it has seen; without one it says the one before. */
export function sentEvent(event: string, data: object, id: string | null = null): string {
  const named = id === null ? "" : `id: ${id}\n`;
  return `event: ${event}\n${named}data: ${JSON.stringify(data)}\n\n`;
}

/** The last thing that a listener hears whose token ended while it listened. */
export const signedOut = sentEvent("signed_out", {});

/** A listener that takes nothing for so long is cut off: it comes back, and goes on where it was. */
export function stallWatch(afterMs: number, cutOff: () => void): (isStalled: boolean) => void {
  let timer: NodeJS.Timeout | undefined;
  return (isStalled) => {
    clearTimeout(timer);
    timer = isStalled ? setTimeout(cutOff, afterMs) : undefined;
    timer?.unref();
  };
}
