import type { InboundTransport, OutboundTransport } from "../connection-transport.js";
import { checkDatabaseInbound, checkDatabaseOutbound } from "../transports/database/database-settings.js";
import { checkFileInbound } from "../transports/file/file-inbound-settings.js";
import { checkFileOutbound } from "../transports/file/file-outbound-settings.js";
import { checkHttpInbound } from "../transports/http/http-inbound-settings.js";
import { checkHttpOutbound } from "../transports/http/http-outbound-settings.js";
import { checkMllpInbound, checkMllpOutbound } from "../transports/mllp/mllp-settings.js";
import { checkSftpInbound, checkSftpOutbound } from "../transports/sftp/sftp-settings.js";
import { checkTcpInbound, checkTcpOutbound } from "../transports/tcp/tcp-settings.js";
import type { Checked, Problem } from "../transports/transport.js";

type Check = (given: unknown, where: string) => Checked<object>;

const inbounds: Readonly<Record<InboundTransport["kind"], Check>> = {
  mllp: checkMllpInbound,
  tcp: checkTcpInbound,
  http: checkHttpInbound,
  file: checkFileInbound,
  sftp: checkSftpInbound,
  database: checkDatabaseInbound,
};

const outbounds: Readonly<Record<OutboundTransport["kind"], Check>> = {
  mllp: checkMllpOutbound,
  tcp: checkTcpOutbound,
  http: checkHttpOutbound,
  file: checkFileOutbound,
  sftp: checkSftpOutbound,
  database: checkDatabaseOutbound,
};

export function checkInboundTransport(given: unknown, where: string): readonly Problem[] {
  return checkBy(inbounds, given, where);
}

export function checkOutboundTransport(given: unknown, where: string): readonly Problem[] {
  return checkBy(outbounds, given, where);
}

/** Each kind has a check of its own, in its room. */
function checkBy(checks: Readonly<Record<string, Check>>, given: unknown, where: string): readonly Problem[] {
  const kind = typeof given === "object" && given !== null && "kind" in given ? given.kind : undefined;
  const check = typeof kind === "string" && Object.hasOwn(checks, kind) ? checks[kind] : undefined;
  if (check === undefined) {
    return [
      `${where}.kind must be one of ${Object.keys(checks)
        .map((name) => `"${name}"`)
        .join(", ")}.`,
    ];
  }
  const checked = check(given, where);
  return isProblems(checked) ? checked : [];
}

function isProblems(checked: Checked<object>): checked is Problem[] {
  return Array.isArray(checked);
}
