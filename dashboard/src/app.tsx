import { useEffect, useState } from "preact/hooks";
import { type ApiError, asApiError } from "./api/api-error.js";
import { refusals } from "./api/client.js";
import { lookAtSession, useSession } from "./api/session.js";
import { useStore } from "./api/store.js";
import { FreshToken } from "./layout/fresh-token.js";
import { Shell } from "./layout/shell.js";
import { SignIn } from "./layout/sign-in.js";
import { followCluster } from "./live/live-stream.js";
import { ErrorNote, Loading } from "./parts/notes.js";
import { Toasts } from "./parts/toast.js";

const retryMs = 2000;

/** Asks who is there, then shows the door or the house. */
export function App() {
  const session = useSession();
  const refused = useStore(refusals);
  const [error, setError] = useState<ApiError>();
  const inside = session !== undefined && (session.signed_in || session.open);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      lookAtSession().then(
        () => setError(undefined),
        (thrown: unknown) => {
          setError(asApiError(thrown));
          timer = setTimeout(look, retryMs);
        },
      );
    };
    look();
    return () => clearTimeout(timer);
  }, [refused]);

  useEffect(() => (inside ? followCluster() : undefined), [inside]);

  return (
    <>
      {session === undefined ? <Waiting error={error} /> : inside ? <Shell /> : <SignIn />}
      <FreshToken />
      <Toasts />
    </>
  );
}

function Waiting({ error }: { readonly error: ApiError | undefined }) {
  return <main class="door">{error === undefined ? <Loading /> : <ErrorNote error={error} />}</main>;
}
