import { useId, useRef, useState } from "preact/hooks";
import type { CreatedToken } from "../api/access-answers.js";
import { createStore, useStore } from "../api/store.js";
import { Dialog } from "../parts/dialog.js";
import { visible } from "../text/visible.js";

/** A token that was just created: shown over whatever page there is, since the first one shuts the door on the page itself. */
const fresh = createStore<CreatedToken | undefined>(undefined);

export function showFreshToken(created: CreatedToken): void {
  fresh.set(created);
}

export function FreshToken() {
  const created = useStore(fresh);
  return created === undefined ? null : <TokenSecret created={created} onClose={() => fresh.set(undefined)} />;
}

/** The one time that a secret is seen. It is held until this dialog is closed, and is gone then. */
function TokenSecret({ created, onClose }: { readonly created: CreatedToken; readonly onClose: () => void }) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    field.current?.select();
    navigator.clipboard?.writeText(created.secret).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <Dialog title={`Token ${visible(created.token.name)}`} onClose={onClose} once>
      <div class="dialog-says">
        <p>This is its secret. It is shown now and never again: take it to where it is needed.</p>
        <div class="field">
          <label for={id}>Secret</label>
          <input
            id={id}
            ref={field}
            class="mono"
            readOnly
            value={created.secret}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
        </div>
        <p role="status">{copied ? "It is in the clipboard." : ""}</p>
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={copy}>
          Copy
        </button>
        <button type="button" class="button button-primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
