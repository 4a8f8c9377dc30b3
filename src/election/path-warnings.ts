import { HoldfastError } from "../errors.js";
import type { LockSession } from "../store/contract.js";

/** What the way to the database rules out (R11), as an operator should hear it. */
export function pathWarnings(
  session: Pick<LockSession, "path" | "identity">,
  insistsOnEvidence: boolean,
): { readonly refusal: HoldfastError | null; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  let refusal: HoldfastError | null = null;
  if (session.path === "pooled" && insistsOnEvidence) {
    refusal = new HoldfastError(
      "POOLER_DETECTED",
      'A pooler stands between this node and the database, so cluster.leader_election.takeover = "evidence" cannot work: ' +
        'set store.election_url to a direct connection, or takeover = "lease".',
    );
  } else if (session.path === "pooled") {
    warnings.push(
      "a pooler stands before the database: crashes are waited out for the lease TTL; set store.election_url",
    );
  } else if (session.path === "proxied") {
    warnings.push("a proxy or NAT stands before the database: crash evidence gets a grace of 250 ms");
  }
  if (session.identity === null) {
    warnings.push(
      "the database's identity cannot be read: epochs may repeat if it fails over to a replica that lost commits",
    );
  }
  return { refusal, warnings };
}
