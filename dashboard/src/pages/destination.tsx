import { useId } from "preact/hooks";
import type { Connection } from "../api/message-answers.js";

interface DestinationProps {
  readonly connections: readonly Connection[];
  readonly to: string;
  readonly onChoose: (to: string) => void;
}

/** Where what is replayed goes: to all that its handlers send to, or to one of them. */
export function Destination({ connections, to, onChoose }: DestinationProps) {
  const id = useId();
  const outbound = connections.filter(({ direction }) => direction === "outbound");
  return (
    <div class="field">
      <label for={id}>Send it to</label>
      <select id={id} value={to} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="all">All that its handlers send to</option>
        {outbound.map(({ name }) => (
          <option key={name} value={name}>
            Only {name}
          </option>
        ))}
      </select>
    </div>
  );
}
