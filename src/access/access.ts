import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { AccessBook, Page, TokenList } from "../store/contract.js";
import type { AuditEntry, AuditRow } from "./audit.js";
import { type AccessRole, type Grant, type Permission, permissions, permissionsOf } from "./permission.js";
import { checkTokenWish, hashToken, mintToken, type TokenRow } from "./token.js";

/** Who calls, and what they may do. */
export interface Caller {
  readonly name: string;
  readonly tokenId: string | null;
  readonly role: AccessRole | null;
  readonly permissions: ReadonlySet<Permission>;
  /** When the token ends, by the database's clock. */
  readonly expiresAt: number | null;
}

export interface TokenWish {
  readonly name: string;
  readonly role: AccessRole;
  readonly grants: readonly Grant[];
  readonly lifetimeMs: number | null;
}

/** Whoever calls a node that has never had a token: everything is open, for development. */
export const anyone: Caller = {
  name: "anyone",
  tokenId: null,
  role: null,
  permissions: new Set(permissions),
  expiresAt: null,
};

/**
 * Who may do what. The tokens are kept in memory, so that a node can tell its callers apart while the database is away;
 * every change of a token raises a version that comes with each beat, so a revoked one works for one beat more.
 */
export class Access {
  private readonly book: AccessBook;
  private readonly clock: Clock;
  private list: {
    readonly read: TokenList;
    readonly at: number;
    readonly byHash: ReadonlyMap<string, TokenRow>;
  } | null = null;
  private reading: Promise<void> | null = null;
  private readonly followers = new Set<() => void>();

  constructor(book: AccessBook, clock: Clock) {
    this.book = book;
    this.clock = clock;
  }

  /** True while no token was ever made. A revoked token counts: taking the last one back must not open the door. */
  get isOpen(): boolean {
    return this.list !== null && this.list.read.tokens.length === 0;
  }

  /** Reads the tokens again; those who ask meanwhile wait for the same reading. */
  refresh(): Promise<void> {
    this.reading ??= this.read().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  private async read(): Promise<void> {
    const at = this.clock.mono();
    this.keep(await this.book.tokens(), at);
  }

  /** Whether the list in memory is older than the one in the database. */
  isBehind(accessVersion: number): boolean {
    return this.list?.read.accessVersion !== accessVersion;
  }

  /** Reads the tokens again where the database has a newer list. */
  catchUp(accessVersion: number, failed: (error: unknown) => void): void {
    if (this.isBehind(accessVersion)) this.refresh().catch(failed);
  }

  /** Null where the token is unknown, has expired or was revoked. From memory. */
  authenticate(secret: string): Caller | null {
    const token = this.list?.byHash.get(hashToken(secret)) ?? null;
    if (token === null || token.revokedAt !== null || this.remainingMs(token) <= 0) return null;
    const { id, name, role, grants, expiresAt } = token;
    return { name, tokenId: id, role, permissions: permissionsOf(role, grants), expiresAt };
  }

  /** Whether a caller who was let in would be let in again. From memory. */
  admits({ tokenId, expiresAt }: Caller): boolean {
    if (tokenId === null) return this.isOpen;
    const token = this.list?.read.tokens.find(({ id }) => id === tokenId);
    return token !== undefined && token.revokedAt === null && this.remainingMs({ expiresAt }) > 0;
  }

  /** Until a token ends, by the database's clock as it was last read and has gone on here since. */
  remainingMs({ expiresAt }: Pick<Caller, "expiresAt">): number {
    if (expiresAt === null || this.list === null) return Number.POSITIVE_INFINITY;
    return expiresAt - (this.list.read.now + (this.clock.mono() - this.list.at));
  }

  /** Told whenever the tokens in memory may be others than before. */
  follow(listener: () => void): Disposable {
    this.followers.add(listener);
    return { [Symbol.dispose]: () => this.followers.delete(listener) };
  }

  async tokens(): Promise<readonly TokenRow[]> {
    return (await this.book.tokens()).tokens;
  }

  /** The secret is in this answer and nowhere else. */
  async create(wish: TokenWish, createdBy: string): Promise<{ readonly token: TokenRow; readonly secret: string }> {
    checkTokenWish(wish);
    const secret = mintToken();
    const token = await this.book.createToken({ ...wish, hash: hashToken(secret), createdBy });
    await this.adopt(token);
    return { token, secret };
  }

  async revoke(id: string): Promise<TokenRow> {
    const token = await this.book.revokeToken(id);
    if (token === null) throw new HoldfastError("NOT_FOUND", `There is no token "${id}".`);
    await this.adopt(token);
    return token;
  }

  /** The token is in the database: whatever becomes of a reading, this node knows it from here on. */
  private async adopt(token: TokenRow): Promise<void> {
    await this.reading?.catch(() => undefined); // It may have begun before.
    if (this.list === null) return;
    const { read, at } = this.list;
    this.keep({ ...read, tokens: [...read.tokens.filter(({ id }) => id !== token.id), token] }, at);
  }

  private keep(read: TokenList, at: number): void {
    this.list = { read, at, byHash: new Map(read.tokens.map((token) => [token.hash, token])) };
    for (const listener of this.followers) listener();
  }

  /** Answers with the id of the line; what it tells of may be done only after this. */
  async beginAudit(entry: AuditEntry): Promise<string> {
    return await this.book.beginAudit(entry);
  }

  async finishAudit(id: string, outcome: string, target: string | null = null): Promise<void> {
    await this.book.finishAudit(id, outcome, target);
  }

  async audit(page: Page): Promise<readonly AuditRow[]> {
    return await this.book.audit(page);
  }
}
