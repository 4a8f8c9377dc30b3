/** One line of the audit: who did what, when and with which outcome. Never a secret, never a payload. */
export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  readonly address: string | null;
}

export interface AuditRow extends AuditEntry {
  /** An HTTP status, or "done" for what was done straight in the database; "begun" where its end was never told. */
  readonly outcome: string;
  readonly id: string;
  readonly nodeId: string | null;
  /** Milliseconds since 1970, by the database's clock. */
  readonly at: number;
}
