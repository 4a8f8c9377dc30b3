import type { WrittenDuration } from "../../transport-options.js";
import type { Fields } from "../setting-fields.js";

/** Where an SFTP folder is and who asks, as a config module writes it. */
export interface SftpPlaceOptions {
  readonly host: string;
  /** 22 by default. */
  readonly port?: number | undefined;
  readonly username: string;
  /** The variable that holds the password. */
  readonly passwordFrom?: string | undefined;
  /** The path of a private key. */
  readonly privateKey?: string | undefined;
  /** The variable that holds a private key itself. */
  readonly privateKeyFrom?: string | undefined;
  /** The variable that holds the private key's passphrase. */
  readonly passphraseFrom?: string | undefined;
  /** The fingerprint of the server's key, like "SHA256:...", or several: a server with another one is refused. */
  readonly hostKey?: string | readonly string[] | undefined;
  /** Takes any server for the right one. */
  readonly insecureHostKey?: boolean | undefined;
  /** Its path on the server. */
  readonly folder: string;
  /** "10s" by default. */
  readonly connectTimeout?: WrittenDuration | undefined;
  /** How long the server may take for one step; "30s" by default. */
  readonly replyTimeout?: WrittenDuration | undefined;
}

export interface SftpPlace {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly passwordFrom: string | null;
  readonly privateKey: string | null;
  readonly privateKeyFrom: string | null;
  readonly passphraseFrom: string | null;
  /** Empty: any, because the settings say so. */
  readonly hostKeys: readonly string[];
  readonly folder: string;
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
}

export const placeFields = [
  "host",
  "port",
  "username",
  "passwordFrom",
  "privateKey",
  "privateKeyFrom",
  "passphraseFrom",
  "hostKey",
  "insecureHostKey",
  "folder",
  "connectTimeout",
  "replyTimeout",
] satisfies (keyof SftpPlaceOptions)[];

const fingerprint = /^SHA256:[A-Za-z0-9+/]{43}=?$/;

export function readPlace(fields: Fields): SftpPlace {
  const variableOrNull = (field: string): string | null => (fields.has(field) ? fields.variable(field) : null);
  const place: SftpPlace = {
    host: fields.text("host", null, "the name or address of a server"),
    port: fields.whole("port", 22, { min: 1, max: 65_535 }),
    username: fields.text("username", null, "the name to log in with"),
    passwordFrom: variableOrNull("passwordFrom"),
    privateKey: fields.textOrNull("privateKey", "the path of a private key"),
    privateKeyFrom: variableOrNull("privateKeyFrom"),
    passphraseFrom: variableOrNull("passphraseFrom"),
    hostKeys: hostKeysOf(fields),
    folder: fields.text("folder", null, "the folder's path on the server").replace(/(?<=.)\/+$/, ""),
    connectTimeoutMs: fields.duration("connectTimeout", "10s"),
    replyTimeoutMs: fields.duration("replyTimeout", "30s"),
  };
  const ways = [place.passwordFrom, place.privateKey, place.privateKeyFrom].filter((way) => way !== null);
  if (ways.length !== 1) fields.wrong('needs one of "passwordFrom", "privateKey" and "privateKeyFrom".');
  if (place.passphraseFrom !== null && place.passwordFrom !== null) {
    fields.wrong("has a passphrase and no private key that it could be for.");
  }
  return place;
}

function hostKeysOf(fields: Fields): readonly string[] {
  if (fields.flag("insecureHostKey", false)) {
    if (fields.has("hostKey")) fields.wrong('checks the server\'s key, so leave "insecureHostKey" out.');
    return [];
  }
  if (!fields.has("hostKey")) {
    const how = "ssh-keyscan HOST | ssh-keygen -lf - shows it";
    fields.wrong(`needs hostKey, the fingerprint of the server's key (${how}), or insecureHostKey: true.`);
    return [];
  }
  const given = fields.value("hostKey");
  const keys: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (keys.length > 0 && keys.every((key) => typeof key === "string" && fingerprint.test(key))) {
    return (keys as readonly string[]).map((key) => key.replace(/=$/, ""));
  }
  fields.bad("hostKey", 'a fingerprint like "SHA256:" and 43 characters, or a list of them');
  return [];
}
