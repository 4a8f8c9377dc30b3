import { useId, useState } from "preact/hooks";
import { ApiError } from "../api/api-error.js";
import { act } from "../api/client.js";
import type { Connection, Sent } from "../api/message-answers.js";
import { hrefTo } from "../layout/route.js";
import { Confirm } from "../parts/action.js";
import { base64OfBytes } from "../text/body-decoding.js";
import { fromEditable } from "../text/editable-body.js";
import { formatBytes } from "../time/format.js";

interface MessageSendProps {
  readonly connections: readonly Connection[];
  readonly onClose: () => void;
}

/** A message to try things with, as text or as a file. */
export function MessageSend({ connections, onClose }: MessageSendProps) {
  const inbound = connections.filter(({ direction }) => direction === "inbound");
  const [connection, setConnection] = useState(inbound[0]?.name ?? "");
  const [text, setText] = useState("");
  const [file, setFile] = useState<File>();
  const ids = { connection: useId(), text: useId(), file: useId() };
  const run = async (): Promise<string> => {
    const given = file === undefined ? { body: bodyOf(text) } : await bodyOfFile(file);
    const sent = await act<Sent>("POST", "/messages", { connection, ...given });
    location.hash = hrefTo("/messages", [sent.id]);
    if (sent.duplicate) return `Message ${sent.id} has this control id already: nothing was taken in.`;
    return sent.malformed === null
      ? `It is message ${sent.id}.`
      : `It is message ${sent.id}, and cannot be read: ${sent.malformed}`;
  };
  return (
    <Confirm
      title="Send a message"
      verb="Send"
      wide
      ready={connection !== "" && (text !== "" || file !== undefined)}
      run={run}
      onClose={onClose}
      says={
        <>
          <p>
            It is taken in as if it had come in by the connection: what it leads to is real, and so are those who get
            it.
          </p>
          <div class="field">
            <label for={ids.connection}>Connection</label>
            <select
              id={ids.connection}
              value={connection}
              onChange={({ currentTarget }) => setConnection(currentTarget.value)}
            >
              {inbound.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for={ids.text}>Message</label>
            <textarea
              id={ids.text}
              rows={12}
              spellcheck={false}
              value={text}
              disabled={file !== undefined}
              placeholder={"MSH|^~\\&|…"}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </div>
          <div class="field">
            <label for={ids.file}>Or a file, of {formatBytes(mostSent)} at the most</label>
            <input id={ids.file} type="file" onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])} />
          </div>
        </>
      }
    />
  );
}

/** As base64 in a request of a mebibyte. */
const mostSent = 750_000;

/** HL7 ends its segments by CR; anything else has the line ends of this field. */
function bodyOf(text: string): string {
  return fromEditable(text, /^(MSH|FHS|BHS)/.test(text) ? "\r" : "\n");
}

async function bodyOfFile(file: File): Promise<{ readonly body: string; readonly encoding: "base64" }> {
  if (file.size > mostSent) {
    throw new ApiError(
      0,
      "TOO_LARGE",
      `The file has ${formatBytes(file.size)}: ${formatBytes(mostSent)} can be sent from here.`,
    );
  }
  return { body: base64OfBytes(new Uint8Array(await file.arrayBuffer())), encoding: "base64" };
}
