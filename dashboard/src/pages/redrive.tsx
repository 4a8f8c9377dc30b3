import { act } from "../api/client.js";
import type { Letter, Redriven } from "../api/queue-answers.js";
import { Action } from "../parts/action.js";
import { Badge } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { Time } from "../parts/when.js";

interface RedriveProps {
  readonly letter: Letter;
  readonly onDone: () => void;
}

export function Redrive({ letter, onDone }: RedriveProps) {
  if (letter.redriven_at !== null) {
    return (
      <Badge tone="good">
        redriven <Time at={letter.redriven_at} />
      </Badge>
    );
  }
  const run = async (): Promise<string> => {
    const { position } = await act<Redriven>("POST", `/dead-letters/${encodeURIComponent(letter.id)}/redrive`);
    onDone();
    return `Dead letter ${letter.id} is in its lane again, at position ${position}.`;
  };
  return (
    <Action
      permission="replay"
      verb="Redrive"
      label={`Redrive dead letter ${letter.id}`}
      title={`Redrive dead letter ${letter.id}`}
      says={
        <p>
          It is taken in again at the end of lane <Name of={letter.lane} mono />, behind all that is there now. This can
          be done once; if it fails again, it is a new dead letter.
        </p>
      }
      run={run}
    />
  );
}

/** One after another in the order in which they died, so that those of a lane keep it. */
export function RedriveAll({ letters, onDone }: { readonly letters: readonly Letter[]; readonly onDone: () => void }) {
  const run = async (): Promise<string> => {
    let done = 0;
    try {
      for (const { id } of letters.toReversed()) {
        await act("POST", `/dead-letters/${encodeURIComponent(id)}/redrive`);
        done += 1;
      }
    } finally {
      onDone();
    }
    return `${done} dead letters are in their lanes again.`;
  };
  return (
    <Action
      permission="replay"
      verb={`Redrive ${letters.length === 1 ? "the one shown" : `all ${letters.length} shown`}`}
      title={`Redrive ${letters.length} dead letters`}
      says={
        <p>
          Those on this page are taken in again at the ends of their lanes, one after another, the oldest first. Each
          can be redriven once. The first that is refused ends it; those before it are redriven then.
        </p>
      }
      run={run}
    />
  );
}
