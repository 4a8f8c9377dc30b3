interface TabsProps<Tab extends string> {
  readonly label: string;
  readonly tabs: readonly (readonly [tab: Tab, shown: string])[];
  readonly chosen: Tab;
  readonly onChoose: (tab: Tab) => void;
}

/** One of a few ways to look at the same thing. */
export function Tabs<Tab extends string>({ label, tabs, chosen, onChoose }: TabsProps<Tab>) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {tabs.map(([tab, shown]) => (
        <button key={tab} type="button" aria-pressed={tab === chosen} onClick={() => onChoose(tab)}>
          {shown}
        </button>
      ))}
    </fieldset>
  );
}
