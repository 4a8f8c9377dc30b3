import { useEffect, useReducer, useRef } from "preact/hooks";

/** A value that parts of the page watch. */
export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The store's value, or what `pick` takes of it: the part is drawn again only when that changes. */
export function useStore<Value>(store: Store<Value>): Value;
export function useStore<Value, Picked>(store: Store<Value>, pick: (value: Value) => Picked): Picked;
export function useStore<Value, Picked>(store: Store<Value>, pick?: (value: Value) => Picked): Value | Picked {
  const look = (): Value | Picked => (pick === undefined ? store.get() : pick(store.get()));
  const shown = look();
  const latest = useRef({ look, shown });
  latest.current = { look, shown };
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useEffect(() => {
    const compare = (): void => {
      if (!Object.is(latest.current.look(), latest.current.shown)) redraw();
    };
    // It may have changed between the drawing and this effect.
    compare();
    return store.subscribe(compare);
  }, [store]);
  return shown;
}
