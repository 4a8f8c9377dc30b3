import type { Logger } from "pino";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { OpenOutside } from "../store/outside-contract.js";
import { charsetOf } from "./charset.js";
import type { InboundDefinition, OutboundDefinition } from "./definition.js";
import { DatabaseDestination } from "./transports/database/database-destination.js";
import { checkDatabaseInbound, checkDatabaseOutbound } from "./transports/database/database-settings.js";
import { DatabaseSource } from "./transports/database/database-source.js";
import { createFileDestination } from "./transports/file/file-destination.js";
import { checkFileInbound } from "./transports/file/file-inbound-settings.js";
import { checkFileOutbound } from "./transports/file/file-outbound-settings.js";
import { createFileSource } from "./transports/file/file-source.js";
import { HttpDestination } from "./transports/http/http-destination.js";
import { checkHttpInbound } from "./transports/http/http-inbound-settings.js";
import { checkHttpOutbound } from "./transports/http/http-outbound-settings.js";
import { HttpSource } from "./transports/http/http-source.js";
import { createMllpDestination } from "./transports/mllp/mllp-destination.js";
import { checkMllpInbound, checkMllpOutbound } from "./transports/mllp/mllp-settings.js";
import { createMllpSource } from "./transports/mllp/mllp-source.js";
import { createSftpDestination } from "./transports/sftp/sftp-destination.js";
import { checkSftpInbound, checkSftpOutbound } from "./transports/sftp/sftp-settings.js";
import { createSftpSource } from "./transports/sftp/sftp-source.js";
import { createTcpDestination } from "./transports/tcp/tcp-destination.js";
import { checkTcpInbound, checkTcpOutbound } from "./transports/tcp/tcp-settings.js";
import { createTcpSource } from "./transports/tcp/tcp-source.js";
import type { Checked, Destination, Source, SourceParts } from "./transports/transport.js";

export interface TransportParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly openOutside: OpenOutside;
}

type Accept = SourceParts<unknown>["accept"];

/** The source of an inbound, not started yet. */
export function openSource(
  inbound: InboundDefinition,
  accept: Accept,
  { clock, log, openOutside }: TransportParts,
): Source {
  const { name, transport, acks = {}, charset } = inbound;
  const where = `inbound ${name}.transport`;
  const changed = (): void => undefined;
  const base = { name, clock, log: log.child({ connection: name }), accept, changed };
  switch (transport.kind) {
    case "mllp": {
      const { mode = "auto", malformed = "AR" } = acks;
      const settings = sound(checkMllpInbound(transport, where));
      const charsets = (declared: string) => charsetOf(declared, charset);
      return createMllpSource({ ...base, settings, acks: { mode, malformed }, charsetOf: charsets });
    }
    case "tcp":
      return createTcpSource({ ...base, settings: sound(checkTcpInbound(transport, where)) });
    case "http":
      return new HttpSource({ ...base, settings: sound(checkHttpInbound(transport, where)) });
    case "file":
      return createFileSource({ ...base, settings: sound(checkFileInbound(transport, where)) });
    case "sftp":
      return createSftpSource({ ...base, settings: sound(checkSftpInbound(transport, where)) });
    case "database":
      return new DatabaseSource({ ...base, settings: sound(checkDatabaseInbound(transport, where)) }, openOutside);
  }
}

/** The destination of an outbound. It connects when there is something to send. */
export function openDestination(
  outbound: OutboundDefinition,
  { clock, log, openOutside }: TransportParts,
): Destination {
  const { name, transport } = outbound;
  const where = `outbound ${name}.transport`;
  const base = { name, clock, log: log.child({ connection: name }), changed: () => undefined };
  switch (transport.kind) {
    case "mllp":
      return createMllpDestination({ ...base, settings: sound(checkMllpOutbound(transport, where)) });
    case "tcp":
      return createTcpDestination({ ...base, settings: sound(checkTcpOutbound(transport, where)) });
    case "http":
      return new HttpDestination({ ...base, settings: sound(checkHttpOutbound(transport, where)) });
    case "file":
      return createFileDestination({ ...base, settings: sound(checkFileOutbound(transport, where)) });
    case "sftp":
      return createSftpDestination({ ...base, settings: sound(checkSftpOutbound(transport, where)) });
    case "database":
      return new DatabaseDestination(
        { ...base, settings: sound(checkDatabaseOutbound(transport, where)) },
        openOutside,
      );
  }
}

/** It was found sound when the folder was loaded; what has changed outside since, like a file that is gone, is told here. */
function sound<Settings>(checked: Checked<Settings>): Settings {
  if (Array.isArray(checked)) throw new HoldfastError("BAD_SETTINGS", checked.join(" "));
  return checked;
}
