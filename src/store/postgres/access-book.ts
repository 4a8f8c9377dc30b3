import type { AuditEntry, AuditRow } from "../../access/audit.js";
import type { AccessRole, Grant } from "../../access/permission.js";
import type { TokenOrder, TokenRow } from "../../access/token.js";
import type { AccessBook, Page, TokenList } from "../contract.js";
import type { Questions } from "./questions.js";

interface TokenJson {
  id: string;
  name: string;
  role: AccessRole;
  grants: Grant[];
  hash: string;
  created_at: number;
  created_by: string;
  expires_at: number | null;
  revoked_at: number | null;
}

function readToken(json: TokenJson): TokenRow {
  return {
    id: json.id,
    name: json.name,
    role: json.role,
    grants: json.grants,
    hash: json.hash,
    createdAt: json.created_at,
    createdBy: json.created_by,
    expiresAt: json.expires_at,
    revokedAt: json.revoked_at,
  };
}

interface AuditJson {
  id: string;
  at: number;
  node_id: string | null;
  actor: string;
  action: string;
  target: string | null;
  outcome: string;
  address: string | null;
}

/** The rows of `tokens` and of `audit`. */
export function accessBook(questions: Questions, nodeId: string | null): AccessBook {
  const { schema } = questions;
  const ms = (column: string): string => `${schema}.ms_since_1970(${column}) as ${column}`;
  const columns = `id::text, name, role, grants, hash, created_by, ${ms("created_at")}, ${ms("expires_at")}, ${ms("revoked_at")}`;
  return {
    /** The version first: a token made in between makes the next beat look behind, and the list is read again. */
    async tokens(): Promise<TokenList> {
      return await questions.ask("reading the tokens", async (client) => {
        const { rows: versions } = await client.query<{ now: number; version: number }>(
          `select ${schema}.ms_since_1970(clock_timestamp()) as now, access_version::float8 as version from ${schema}.meta`,
        );
        const { rows } = await client.query<TokenJson>(`select ${columns} from ${schema}.tokens order by tokens.id`);
        return { now: versions[0]?.now ?? 0, accessVersion: versions[0]?.version ?? 0, tokens: rows.map(readToken) };
      });
    },
    async createToken(order: TokenOrder): Promise<TokenRow> {
      const { name, role, grants, hash, lifetimeMs, createdBy } = order;
      const rows = await questions.rows<TokenJson>(
        "creating a token",
        `select ${columns} from ${schema}.create_token($1, $2, $3, $4, $5, $6)`,
        [name, role, grants, hash, lifetimeMs, createdBy],
      );
      return readToken(rows[0] as TokenJson);
    },
    async revokeToken(id: string): Promise<TokenRow | null> {
      if (!/^\d{1,18}$/.test(id)) return null;
      const rows = await questions.rows<TokenJson>(
        "revoking a token",
        `select ${columns} from ${schema}.revoke_token($1)`,
        [id],
      );
      return rows[0] === undefined ? null : readToken(rows[0]);
    },
    async beginAudit(entry: AuditEntry): Promise<string> {
      const { actor, action, target, address } = entry;
      const rows = await questions.rows<{ id: string }>(
        "recording what is about to be done",
        `insert into ${schema}.audit (node_id, actor, action, target, outcome, address)
         values ($1, $2, $3, $4, 'begun', $5) returning id::text`,
        [nodeId, actor, action, target, address],
      );
      return rows[0]?.id ?? "";
    },
    async finishAudit(id: string, outcome: string, target: string | null): Promise<void> {
      await questions.rows("recording what was done", `select ${schema}.finish_audit($1, $2, $3)`, [
        id,
        outcome,
        target,
      ]);
    },
    async audit(page: Page): Promise<readonly AuditRow[]> {
      const rows = await questions.rows<AuditJson>(
        "reading the audit",
        `select id::text, ${ms("at")}, node_id, actor, action, target, outcome, address
         from ${schema}.audit where $1::bigint is null or audit.id < $1 order by audit.id desc limit $2`,
        [page.before ?? null, page.limit],
      );
      return rows.map(({ node_id, ...rest }) => ({ ...rest, nodeId: node_id }));
    },
  };
}
