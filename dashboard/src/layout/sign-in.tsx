import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type ApiError, asApiError } from "../api/api-error.js";
import { signIn, useSession } from "../api/session.js";
import { ErrorNote } from "../parts/notes.js";
import { tokenHints } from "./token-hints.js";

/** The door. The token goes to the node once, and comes back as a cookie that no script can read. */
export function SignIn() {
  const session = useSession();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();

  useEffect(() => {
    document.title = "Sign in · Holdfast";
    field.current?.focus();
  }, []);

  const enter = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn(token.trim());
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
      field.current?.select();
    }
  };

  return (
    <main class="door">
      <form class="door-card" onSubmit={(event) => void enter(event)}>
        <svg class="brand-mark" viewBox="0 0 24 24" width="40" height="40" aria-hidden="true">
          <rect width="24" height="24" rx="6" />
          <path d="M8 5v14M16 5v14M8 12h8" />
        </svg>
        <h1>Sign in to {session?.cluster ?? "Holdfast"}</h1>
        <div class="field">
          <label for={id}>Token</label>
          <input
            id={id}
            ref={field}
            type="password"
            value={token}
            required
            autocomplete="current-password"
            spellcheck={false}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </div>
        <ErrorNote error={error} />
        <button type="submit" class="button button-primary" disabled={busy || token.trim() === ""}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p class="door-hint">
          No token yet? An admin makes one: <code>{tokenHints.throughNode}</code>
          Without an admin, where the database is at hand: <code>{tokenHints.direct}</code>
        </p>
        <p class="session-node">
          {session?.node_id} · {session?.version}
        </p>
      </form>
    </main>
  );
}
