import { Client } from "pg";

const answerWithinMs = 5_000;
/** Above any freeze: so that a sleeper's transaction is still open when it wakes, and only the fence stands in its way. */
const idleWithinMs = 20_000;

/** A session that Holdfast knows nothing of, whose transactions are fenced by SQL alone, as those of a program in any language would be. */
export class OwnSession {
  constructor({ url, tls }) {
    this.options = {
      connectionString: url,
      ssl: tls === "require" ? { rejectUnauthorized: false } : false,
      application_name: "torture-writer",
      connectionTimeoutMillis: answerWithinMs,
      query_timeout: answerWithinMs,
    };
    this.client = null;
  }

  async transaction(term, work) {
    const client = await this.open();
    let committing = false;
    try {
      await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${idleWithinMs}`);
      await work((sql) => client.query(sql));
      committing = true;
      await client.query(`SELECT holdfast.assert_epoch('${term.role}', ${term.epoch}); COMMIT`);
    } catch (error) {
      this.hangUp();
      throw committing && !isRefusal(error) ? unknownOutcome(error) : refused(error);
    }
  }

  async open() {
    if (this.client !== null) return this.client;
    const client = new Client(this.options);
    client.on("error", () => {
      if (this.client === client) this.client = null;
    });
    try {
      await client.connect();
    } catch (error) {
      client.connection.stream.destroy();
      throw refused(error);
    }
    this.client = client;
    return client;
  }

  /** The server rolls back what was open. */
  hangUp() {
    this.client?.connection.stream.destroy();
    this.client = null;
  }
}

/** The server itself said that the transaction failed: by an error of the statement, and not by the end of the session. */
function isRefusal({ severity }) {
  return severity === "ERROR";
}

function refused(error) {
  const isStale = error.code === "HF001" || error.code === "40001";
  return Object.assign(new Error(error.message), { code: isStale ? "STALE_EPOCH" : (error.code ?? "SESSION_LOST") });
}

function unknownOutcome(error) {
  return Object.assign(new Error(error.message), { code: "UNKNOWN_OUTCOME" });
}
