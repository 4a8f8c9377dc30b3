import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { tellingOfLog } from "./embedded-log.js";

/** As the embedded server fails. */
function failing(what: string, log: string, exit: object): () => Promise<never> {
  const message = `${what}.${log === "" ? "" : ` Its log ends with:\n${log}`}`;
  return () => Promise.reject(new HoldfastError("EMBEDDED_FAILED", message, { details: { exit, log } }));
}

const messageOf = async (work: () => Promise<never>): Promise<string> =>
  await tellingOfLog("/data", work).then(
    () => "",
    (error: unknown) => (error instanceof HoldfastError ? error.message : String(error)),
  );

describe("a failure of the embedded server", () => {
  it("names its log instead of reciting it", async () => {
    const log = "LOG:  one\nFATAL:  terminating connection due to administrator command\nLOG:  three";
    const killed = failing("It ended by itself (SIGKILL)", log, { code: null, signal: "SIGKILL" });
    expect(await messageOf(killed)).toBe("It ended by itself (SIGKILL). Its log is /data/postgres.log.");
  });

  it("keeps the one line that says why it did not start", async () => {
    const log =
      "2026-01-01 00:00:00 UTC [7] LOG:  starting\n2026-01-01 00:00:00 UTC [7] FATAL:  could not map memory\n2026-01-01 00:00:00 UTC [7] LOG:  database system is shut down";
    const refused = failing("It did not start (exit code 1)", log, { code: 1, signal: null });
    expect(await messageOf(refused)).toBe(
      "It did not start (exit code 1). It says: could not map memory. Its log is /data/postgres.log.",
    );
  });

  it("without a log, and any other failure, stays as it is", async () => {
    expect(await messageOf(failing("Port 1 is taken", "", {}))).toBe("Port 1 is taken.");
    const other = new HoldfastError("DATABASE_AWAY", "Gone.", { details: { log: "x" } });
    await expect(tellingOfLog("/data", () => Promise.reject(other))).rejects.toBe(other);
  });
});
