import { useId, useState } from "preact/hooks";
import { act } from "../api/client.js";
import type { Connection, SteeredConnection } from "../api/message-answers.js";
import { Action } from "../parts/action.js";
import { visible } from "../text/visible.js";

interface ConnectionActionsProps {
  readonly connection: Connection;
  readonly onDone: () => void;
}

export function ConnectionActions({ connection, onDone }: ConnectionActionsProps) {
  const name = visible(connection.name);
  const isInbound = connection.direction === "inbound";
  const [reason, setReason] = useState("");
  const steer = (verb: "start" | "stop" | "restart", body: unknown) => async (): Promise<string> => {
    const path = `/connections/${encodeURIComponent(connection.name)}/${verb}`;
    const { state, reason: why } = await act<SteeredConnection>("POST", path, body);
    onDone();
    return `${name} is ${state}${state === "failed" && why !== null ? `: ${visible(why)}` : ""}.`;
  };
  const label = (verb: string): string => `${verb} ${name}`;
  if (connection.state === "stopped") {
    return (
      <Action
        permission="control"
        verb="Start"
        label={label("Start")}
        title={label("Start")}
        says={
          <p>
            {isInbound ? "It is opened, and takes messages in." : "It is opened, and what waits goes out, in order."}
          </p>
        }
        run={steer("start", {})}
      />
    );
  }
  return (
    <>
      <Action
        permission="control"
        verb="Restart"
        label={label("Restart")}
        title={label("Restart")}
        says={
          <p>
            It is closed and opened anew.{" "}
            {isInbound ? "Senders lose their connection, and make it again." : "What is under way is finished first."}
          </p>
        }
        run={steer("restart", {})}
      />
      <Action
        permission="control"
        verb="Stop"
        label={label("Stop")}
        title={label("Stop")}
        danger
        says={
          <>
            <p>
              It stays closed until somebody starts it, whoever leads.{" "}
              {isInbound ? "Nobody can send to it meanwhile." : "What is to go out waits meanwhile, in order."}
            </p>
            <ReasonField reason={reason} onInput={setReason} />
          </>
        }
        run={steer("stop", reason.trim() === "" ? {} : { reason: reason.trim() })}
      />
    </>
  );
}

function ReasonField({ reason, onInput }: { readonly reason: string; readonly onInput: (reason: string) => void }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Why, for whoever finds it stopped</label>
      <input id={id} value={reason} maxLength={200} onInput={({ currentTarget }) => onInput(currentTarget.value)} />
    </div>
  );
}
