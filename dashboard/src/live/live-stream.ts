import type { ClusterNodes, RoleLeader, Transition } from "../api/cluster.js";
import { lookAtSession } from "../api/session.js";
import { createStore, useStore } from "../api/store.js";
import { atFirst, hear, type LiveEvent, type LiveState } from "./live-state.js";

/** The one stream of the page. It is opened when somebody is signed in, and comes back by itself. */
export const live = createStore<LiveState>(atFirst);

const firstDelayMs = 250;
const longestDelayMs = 10_000;
const silenceMs = 20_000;

/** Returns what closes it. */
export function followCluster(): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let delayMs = firstDelayMs;
  let closed = false;

  const tell = (event: LiveEvent): void => {
    clearTimeout(silence);
    if (closed) return;
    silence = setTimeout(askAfter, silenceMs);
    live.set(hear(live.get(), event, Date.now()));
  };

  // A stream stands still while the database is away, and its keep-alives do not reach a script: so the node is asked.
  const askAfter = (): void => {
    void lookAtSession().then(() => {
      if (!closed) silence = setTimeout(askAfter, silenceMs);
    }, comeBack);
  };

  const comeBack = (): void => {
    source?.close();
    clearTimeout(silence);
    clearTimeout(timer);
    if (closed) return;
    live.set(hear(live.get(), { kind: "away" }, Date.now()));
    // Half of the delay is chance: a node that comes back is not met by all its pages at once.
    timer = setTimeout(() => void open(), delayMs / 2 + (Math.random() * delayMs) / 2);
    delayMs = Math.min(delayMs * 2, longestDelayMs);
  };

  const open = async (): Promise<void> => {
    // An EventSource does not tell a refusal from a broken line; the session does.
    if (delayMs > firstDelayMs) await lookAtSession().catch(() => undefined);
    if (closed) return;
    source = new EventSource("/cluster/events");
    source.addEventListener("hello", ({ data }: MessageEvent<string>) => {
      delayMs = firstDelayMs;
      const { node_id, now } = JSON.parse(data) as { node_id: string; now: number };
      tell({ kind: "hello", node_id, now });
    });
    source.addEventListener("leaders", ({ data }: MessageEvent<string>) => {
      const { items, now } = JSON.parse(data) as { items: RoleLeader[]; now: number };
      tell({ kind: "leaders", items, now });
    });
    source.addEventListener("nodes", ({ data }: MessageEvent<string>) => {
      tell({ kind: "nodes", ...(JSON.parse(data) as ClusterNodes & { now: number }) });
    });
    source.addEventListener("history", ({ data }: MessageEvent<string>) => {
      tell({ kind: "history", transitions: transitionsOf(JSON.parse(data) as Transition | { items: Transition[] }) });
    });
    source.addEventListener("signed_out", () => {
      source?.close();
      // Another tab may have signed in with another token; where nobody has, whoever shows the page closes this.
      void lookAtSession().then(comeBack, comeBack);
    });
    source.addEventListener("error", comeBack);
  };

  void open();
  return () => {
    closed = true;
    source?.close();
    clearTimeout(timer);
    clearTimeout(silence);
    live.set(atFirst);
  };
}

/** One transition, or several at once. */
function transitionsOf(data: Transition | { readonly items: readonly Transition[] }): readonly Transition[] {
  return "items" in data ? data.items : [data];
}

export function useLive(): LiveState;
export function useLive<Picked>(pick: (state: LiveState) => Picked): Picked;
export function useLive<Picked>(pick?: (state: LiveState) => Picked): LiveState | Picked {
  return useStore<LiveState, LiveState | Picked>(live, pick ?? ((state) => state));
}
