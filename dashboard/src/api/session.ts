import { act, get } from "./client.js";
import type { Permission } from "./permission.js";
import { createStore, useStore } from "./store.js";

/** Who looks at the page. `open`: no token exists yet, and whoever sits at this machine may do everything. */
export interface Session {
  readonly signed_in: boolean;
  readonly open: boolean;
  readonly name: string | null;
  readonly role: string | null;
  readonly permissions: readonly Permission[];
  readonly node_id: string;
  readonly cluster: string;
  readonly version: string;
}

/** Undefined until the node has told. */
const session = createStore<Session | undefined>(undefined);

export async function lookAtSession(): Promise<void> {
  session.set(await get<Session>("/session"));
}

export async function signIn(token: string): Promise<void> {
  await act("POST", "/session", { token });
  await lookAtSession();
}

export async function signOut(): Promise<void> {
  await act("DELETE", "/session");
  await lookAtSession();
}

export function useSession(): Session | undefined {
  return useStore(session);
}

/** Whoever lacks a permission sees no button for it. The node checks again, whatever the page shows. */
export function useMay(permission: Permission): boolean {
  return useStore(session, (now) => now?.permissions.includes(permission) ?? false);
}
