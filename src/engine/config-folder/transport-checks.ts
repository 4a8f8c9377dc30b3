import { checkHttpInbound } from "../transports/http/http-inbound-settings.js";
import { checkHttpOutbound } from "../transports/http/http-outbound-settings.js";
import type { Checked, Problem } from "../transports/transport.js";

type Check = (given: unknown, where: string) => Checked<object>;
const sound: Check = () => ({});

const inbounds: Readonly<Record<string, Check>> = {
  mllp: sound,
  tcp: sound,
  http: checkHttpInbound,
  file: sound,
  sftp: sound,
  database: sound,
};
const outbounds: Readonly<Record<string, Check>> = {
  mllp: sound,
  tcp: sound,
  http: checkHttpOutbound,
  file: sound,
  sftp: sound,
  database: sound,
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
  return Array.isArray(checked) ? checked : [];
}
