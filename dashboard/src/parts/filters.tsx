import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { setQuery, useRoute } from "../layout/route.js";

/** A row of filters over a list. Each is kept in the page's address, so that a link shows the same. */
export function FilterBar({ children }: { readonly children: ComponentChildren }) {
  return (
    <search class="filters" aria-label="Filter">
      {children}
    </search>
  );
}

/** What a filter of this name is set to; empty where it is not. */
export function useFilter(name: string): string {
  return useRoute().query.get(name) ?? "";
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
}

export function TextFilter({ name, label, placeholder = "" }: FilterProps & { readonly placeholder?: string }) {
  const id = useId();
  const set = useFilter(name);
  const [typed, setTyped] = useState(set);
  useEffect(() => setTyped(set), [set]);
  // The list is asked for when the typing rests, not for each letter.
  useEffect(() => {
    if (typed === set) return;
    const timer = setTimeout(() => setQuery(name, typed.trim()), 350);
    return () => clearTimeout(timer);
  }, [typed, set, name]);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </div>
  );
}

interface ChoiceProps extends FilterProps {
  readonly options: readonly (string | readonly [value: string, shown: string])[];
  readonly all?: string;
}

export function ChoiceFilter({ name, label, options, all = "All" }: ChoiceProps) {
  const id = useId();
  const set = useFilter(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={set} onChange={({ currentTarget }) => setQuery(name, currentTarget.value)}>
        <option value="">{all}</option>
        {options.map((option) => {
          const [value, shown] = typeof option === "string" ? [option, option] : option;
          return (
            <option key={value} value={value}>
              {shown}
            </option>
          );
        })}
      </select>
    </div>
  );
}

/** Local date and time in the field, seconds of the epoch in the address. */
export function TimeFilter({ name, label }: FilterProps) {
  const id = useId();
  const set = useFilter(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        value={set === "" ? "" : localMinute(Number(set) * 1000)}
        onChange={({ currentTarget: { value } }) =>
          setQuery(name, value === "" ? "" : String(new Date(value).getTime() / 1000))
        }
      />
    </div>
  );
}

function localMinute(ms: number): string {
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
