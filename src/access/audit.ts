/** One line of the audit: who did what, when and with which outcome. Never a secret, never a payload. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  /** An HTTP status, or "done" and "refused" for what was done straight in the database. */
  readonly outcome: string;
  readonly address: string | null;
}

export interface AuditRow extends AuditEntry {
  readonly id: string;
  readonly nodeId: string | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
}
