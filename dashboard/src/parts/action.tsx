import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import type { Permission } from "../api/permission.js";
import { useMay } from "../api/session.js";
import { Dialog } from "./dialog.js";
import { ErrorNote } from "./notes.js";
import { toast } from "./toast.js";

interface ConfirmProps {
  readonly title: string;
  /** What will happen, in a sentence or two. */
  readonly says: ComponentChildren;
  readonly verb: string;
  readonly danger?: boolean;
  /** Does it; what it returns is told afterwards. A failure stays in the dialog. */
  readonly run: () => Promise<string>;
  readonly onClose: () => void;
  readonly ready?: boolean;
  /** On the button that does nothing. */
  readonly dismiss?: string;
  readonly wide?: boolean;
}

export function Confirm({
  title,
  says,
  verb,
  danger = false,
  run,
  onClose,
  ready = true,
  dismiss = "Cancel",
  wide = false,
}: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const go = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      toast(await run());
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <div class="dialog-says">{says}</div>
      <ErrorNote error={error} />
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onClose}>
          {dismiss}
        </button>
        <button
          type="button"
          class={danger ? "button button-danger" : "button button-primary"}
          disabled={busy || !ready}
          onClick={() => void go()}
        >
          {busy ? "Working…" : verb}
        </button>
      </div>
    </Dialog>
  );
}

interface ActionProps extends Pick<ConfirmProps, "title" | "says" | "run" | "danger" | "dismiss"> {
  readonly permission: Permission;
  /** On the button, and in the dialog. */
  readonly verb: string;
  /** For screen readers, where many buttons of a table say the same. */
  readonly label?: string;
  readonly disabled?: boolean;
}

/** A button that asks before it acts. Whoever lacks the permission sees none. */
export function Action({ permission, verb, label, disabled = false, ...confirm }: ActionProps) {
  const may = useMay(permission);
  const [asking, setAsking] = useState(false);
  if (!may) return null;
  return (
    <>
      <button
        type="button"
        class={confirm.danger === true ? "button button-quiet-danger" : "button"}
        disabled={disabled}
        {...(label === undefined ? {} : { "aria-label": label })}
        onClick={() => setAsking(true)}
      >
        {verb}
      </button>
      {asking ? <Confirm {...confirm} verb={verb} onClose={() => setAsking(false)} /> : null}
    </>
  );
}
