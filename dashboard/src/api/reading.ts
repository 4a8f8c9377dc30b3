import { useCallback, useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "./api-error.js";
import { get, type Query, withQuery } from "./client.js";

/** Something that is read again and again. What was read stays while a later reading fails: `error` then says why. */
export interface Reading<Answer> {
  readonly data: Answer | undefined;
  readonly error: ApiError | undefined;
  /** When `data` was read, by this machine's clock. */
  readonly at: number | undefined;
  /** Reads at once, e.g. after an action. */
  readonly again: () => void;
}

interface Seen<Answer> {
  readonly of: string | null;
  readonly data: Answer | undefined;
  readonly error: ApiError | undefined;
  readonly at: number | undefined;
}

const nothing = { data: undefined, error: undefined, at: undefined };

/** Every `everyMs`, never two at a time, and not while nobody looks. A path of null reads nothing; 0 reads once. */
export function useReading<Answer>(path: string | null, query: Query = {}, everyMs = 5000): Reading<Answer> {
  const of = path === null ? null : withQuery(path, query);
  const [seen, setSeen] = useState<Seen<Answer>>({ of, ...nothing });
  const [round, setRound] = useState(0);

  useEffect(() => {
    if (of === null) return;
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let reading = false;

    const read = async (): Promise<void> => {
      if (reading || document.hidden) return;
      reading = true;
      clearTimeout(timer);
      try {
        const data = await get<Answer>(of, {}, ending.signal);
        if (!ending.signal.aborted) setSeen({ of, data, error: undefined, at: Date.now() });
      } catch (error) {
        if (ending.signal.aborted) return;
        setSeen((before) => ({ ...(before.of === of ? before : { of, ...nothing }), error: asApiError(error) }));
      } finally {
        reading = false;
      }
      if (everyMs > 0 && !ending.signal.aborted) timer = setTimeout(() => void read(), everyMs);
    };
    const onSight = (): void => void (document.hidden || read());

    void read();
    document.addEventListener("visibilitychange", onSight);
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onSight);
    };
  }, [of, everyMs, round]);

  const again = useCallback(() => setRound((count) => count + 1), []);
  // What was read of another path is not shown under this one.
  return seen.of === of ? { ...seen, again } : { ...nothing, again };
}
