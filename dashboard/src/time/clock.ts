import { useEffect, useState } from "preact/hooks";
import { useLive } from "../live/live-stream.js";

/** This machine's clock, drawn again every so often, and not while nobody looks. */
export function useNow(everyMs = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) setNow(Date.now());
    };
    const timer = setInterval(look, everyMs);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [everyMs]);
  return now;
}

/** The server's clock, as far as this machine can tell: leases and ages are judged by it. */
export function useServerNow(everyMs = 1000): number {
  const offset = useLive((state) => state.clockOffsetMs);
  return useNow(everyMs) + offset;
}
