interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly options: readonly (readonly [value: Value, shown: string])[];
  readonly chosen: Value;
  readonly onChoose: (value: Value) => void;
}

/** A few choices side by side, one of them taken. */
export function Segments<Value extends string>({ label, options, chosen, onChoose }: SegmentsProps<Value>) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([value, shown]) => (
        <button key={value} type="button" aria-pressed={value === chosen} onClick={() => onChoose(value)}>
          {shown}
        </button>
      ))}
    </fieldset>
  );
}
