import { asApiError } from "../api/api-error.js";
import { signOut, useSession } from "../api/session.js";
import { toast } from "../parts/toast.js";
import { Icon } from "./icon.js";
import { setTheme, type Theme, useTheme } from "./theme.js";

const faces = [
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
  ["auto", "As the system", "auto"],
] as const;

/** Who one is, where one looks from, how it should look, and the way out. */
export function SessionMenu() {
  const session = useSession();
  if (session === undefined) return null;
  return (
    <div class="session">
      <div class="session-who">
        <div>
          <strong>{session.name ?? "This machine"}</strong>
          <span>{session.open && !session.signed_in ? "open, no token yet" : session.role}</span>
        </div>
        {session.signed_in ? <SignOutButton /> : null}
      </div>
      <ThemeSwitch />
      <p class="session-node" title="The node that serves this page">
        {session.node_id} · {session.version}
      </p>
    </div>
  );
}

function SignOutButton() {
  const leave = (): void => {
    signOut().catch((error: unknown) => toast(asApiError(error).message, "bad"));
  };
  return (
    <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" onClick={leave}>
      <Icon name="out" />
    </button>
  );
}

function ThemeSwitch() {
  const theme = useTheme();
  const choose = (name: Theme) => (): void => setTheme(name);
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">Colours</legend>
      {faces.map(([name, said, icon]) => (
        <button key={name} type="button" aria-pressed={theme === name} title={said} onClick={choose(name)}>
          <Icon name={icon} />
          <span class="visually-hidden">{said}</span>
        </button>
      ))}
    </fieldset>
  );
}
