import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { get } from "../api/client.js";
import type { Transition } from "../api/cluster.js";
import type { Page } from "../api/paged.js";
import { hear, maxHistory } from "./live-state.js";
import { live, useLive } from "./live-stream.js";

const pageSize = 500;

interface History {
  readonly transitions: readonly Transition[];
  readonly loaded: boolean;
  readonly error: ApiError | undefined;
}

/**
 * What happened since then (seconds; 0 is all that is kept), newest first, and what happens from now on. It is read anew
 * whenever the stream comes back: what happened while it was away is then there too.
 */
export function useHistory(since: number): History {
  const connection = useLive((state) => state.connection);
  const history = useLive((state) => state.history);
  const [loaded, setLoaded] = useState(false);
  const [error, setError] = useState<ApiError>();

  useEffect(() => {
    if (connection !== "live") return;
    const ending = new AbortController();
    read(since, ending.signal).then(
      () => {
        if (ending.signal.aborted) return;
        setLoaded(true);
        setError(undefined);
      },
      (thrown: unknown) => {
        if (!ending.signal.aborted) setError(asApiError(thrown));
      },
    );
    return () => ending.abort();
  }, [connection, since]);

  return { transitions: history, loaded, error };
}

async function read(since: number, signal: AbortSignal): Promise<void> {
  let cursor: string | null = null;
  for (let count = 0; count < maxHistory; count += pageSize) {
    const page: Page<Transition> = await get("/cluster/history", { limit: pageSize, cursor }, signal);
    live.set(hear(live.get(), { kind: "history", transitions: page.items }, Date.now()));
    cursor = page.next_cursor;
    if (cursor === null || (page.items.at(-1)?.at ?? 0) < since) return;
  }
}
