import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { act } from "../api/client.js";
import type { Connection, Replays } from "../api/message-answers.js";
import { Confirm } from "../parts/action.js";
import { Facts } from "../parts/facts.js";
import { ErrorNote, Loading } from "../parts/notes.js";
import { formatCount } from "../time/format.js";
import { Destination } from "./destination.js";

interface BulkReplayProps {
  readonly filter: Readonly<Record<string, string>>;
  readonly connections: readonly Connection[];
  readonly onClose: () => void;
}

const mostAtOnce = 1_000;

/** Looks first which ones it would be, and then takes in exactly those, in the order in which they came. */
export function BulkReplay({ filter, connections, onClose }: BulkReplayProps) {
  const [to, setTo] = useState("all");
  const [found, setFound] = useState<Replays>();
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    act<Replays>("POST", "/messages/replay", { ...filter, limit: mostAtOnce, dry_run: true }).then(
      setFound,
      (thrown: unknown) => setError(asApiError(thrown)),
    );
  }, []);
  const matched = found?.matched ?? [];
  return (
    <Confirm
      title="Replay all of these messages"
      verb={found === undefined ? "Replay" : `Replay ${formatCount(matched.length)}`}
      ready={matched.length > 0}
      run={() => replayAll(matched, to)}
      onClose={onClose}
      says={
        <>
          <ErrorNote error={error} />
          {found === undefined && error === undefined ? <Loading /> : null}
          {found === undefined ? null : (
            <>
              <p>
                {matched.length === 0
                  ? "No message is like that."
                  : `${formatCount(matched.length)} messages are like that`}
                {found.next_cursor === null ? "" : ", and there are older ones, which are left as they are"}
                {matched.length === 0 ? "" : ". Each is taken in again as a new one, in the order in which they came."}
              </p>
              <Facts facts={Object.entries(filter).map(([name, value]) => [name.replace("_", " "), value] as const)} />
              <Destination connections={connections} to={to} onChoose={setTo} />
            </>
          )}
        </>
      }
    />
  );
}

/** A request has its time, and names those that it did not get to. */
async function replayAll(ids: readonly string[], to: string): Promise<string> {
  let left = ids;
  let replayed = 0;
  let refused = 0;
  let why = "";
  while (left.length > 0) {
    const answer: Replays = await act<Replays>("POST", "/messages/replay", { ids: left, to });
    replayed += answer.replayed;
    const failures = answer.items.filter(({ id }) => id === null);
    refused += failures.length;
    why = failures[0]?.message ?? why;
    if (answer.left.length >= left.length) break;
    left = answer.left;
  }
  const told = [`${formatCount(replayed)} messages were taken in again.`];
  if (refused > 0) told.push(`${formatCount(refused)} were not: ${why}`);
  if (left.length > 0) told.push(`${formatCount(left.length)} were not tried.`);
  return told.join(" ");
}
