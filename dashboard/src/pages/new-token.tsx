import { useId, useState } from "preact/hooks";
import { type AccessRole, accessRoles, type CreatedToken, type Grant, grantable } from "../api/access-answers.js";
import { act } from "../api/client.js";
import { signIn, useSession } from "../api/session.js";
import { showFreshToken } from "../layout/fresh-token.js";
import { Confirm } from "../parts/action.js";
import { Note } from "../parts/notes.js";

const allows: Readonly<Record<AccessRole, string>> = {
  viewer: "Sees the cluster, and changes nothing.",
  operator: "Sees it, and steers: drains, pauses, replays, submits and cancels jobs.",
  admin: "Everything, tokens and the audit too, but for reading messages.",
  agent: "Takes jobs, under its own name only.",
};

const grantWords: Readonly<Record<Grant, string>> = {
  "messages:read": "May read the bodies of messages",
  "audit:read": "May read the audit",
};

const lifetimes = [
  ["", "It is revoked"],
  ["3600", "An hour"],
  ["86400", "A day"],
  ["2592000", "30 days"],
  ["31536000", "A year"],
] as const;

interface NewTokenProps {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function NewToken({ onDone, onClose }: NewTokenProps) {
  const isFirst = useSession()?.open === true;
  const [name, setName] = useState("");
  const [role, setRole] = useState<AccessRole>(isFirst ? "admin" : "viewer");
  const [grants, setGrants] = useState<readonly Grant[]>([]);
  const [lifetime, setLifetime] = useState("");
  const run = async (): Promise<string> => {
    const ends = lifetime === "" ? {} : { expires_in_seconds: Number(lifetime) };
    const created = await act<CreatedToken>("POST", "/tokens", { name: name.trim(), role, grants, ...ends });
    showFreshToken(created);
    // The door that was open is shut by now: whoever made the first token goes on by it.
    if (isFirst) await signIn(created.secret);
    onDone();
    return `Token ${name.trim()} is created.`;
  };
  const grant = (one: Grant, isGranted: boolean): void =>
    setGrants(isGranted ? [...grants, one] : grants.filter((other) => other !== one));
  return (
    <Confirm
      title="Create a token"
      verb="Create"
      ready={name.trim() !== ""}
      run={run}
      onClose={onClose}
      says={
        <>
          {isFirst ? (
            <Note>
              This is the first token. From now on nobody gets in without one, and this page goes on under it: only an
              admin can create others here.
            </Note>
          ) : null}
          <NameField name={name} role={role} onInput={setName} />
          <Choice
            label="Role"
            value={role}
            options={accessRoles.map((one) => [one, one])}
            onChoose={(one) => setRole(one as AccessRole)}
          />
          <p>{allows[role]}</p>
          <fieldset class="checks">
            <legend>Granted by name</legend>
            {grantable.map((one) => (
              <label key={one}>
                <input
                  type="checkbox"
                  checked={grants.includes(one)}
                  onChange={({ currentTarget }) => grant(one, currentTarget.checked)}
                />
                {grantWords[one]}
              </label>
            ))}
          </fieldset>
          <Choice label="Valid until" value={lifetime} options={lifetimes} onChoose={setLifetime} />
        </>
      }
    />
  );
}

interface NameFieldProps {
  readonly name: string;
  readonly role: AccessRole;
  readonly onInput: (name: string) => void;
}

function NameField({ name, role, onInput }: NameFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{role === "agent" ? "The agent's name" : "A name, of this token alone"}</label>
      <input
        id={id}
        value={name}
        maxLength={100}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, shown: string])[];
  readonly onChoose: (value: string) => void;
}

function Choice({ label, value, options, onChoose }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(([one, shown]) => (
          <option key={one} value={one}>
            {shown}
          </option>
        ))}
      </select>
    </div>
  );
}
