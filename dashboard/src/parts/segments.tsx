interface SegmentsProps {
  readonly label: string;
  readonly options: readonly (readonly [value: string, shown: string])[];
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
}

/** A few choices side by side, one of them taken. */
export function Segments({ label, options, chosen, onChoose }: SegmentsProps) {
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
