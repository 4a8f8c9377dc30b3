import { isIP } from "node:net";
import { matching, type Setting } from "./setting.js";

/** An address to publish. What is wrong with it is not shown: it may be the credentials in it. */
export function publicUrl(doc: string): Setting<string> {
  const mustBe = "an http or https URL without credentials, query and fragment";
  return {
    ...matching("", /^/, mustBe, doc),
    hidden: true,
    read: (given) => (typeof given === "string" && isPublishable(given) ? { value: given } : { mustBe }),
  };
}

function isPublishable(url: string): boolean {
  if (url === "") return true;
  if (!/^https?:\/\/[^\s\p{C}]+$/u.test(url) || !URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === "" && password === "" && !/[?#@]/.test(url);
}

/** An address to listen on, or a name for one. A port has its own setting, and brackets are for URLs. */
export function listenHost(fallback: string, doc: string): Setting<string> {
  const mustBe = "an address or a host name, without a port";
  const isHost = (host: string): boolean => isIP(host) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(host);
  return {
    ...matching(fallback, /^/, mustBe, doc),
    read: (given) => (typeof given === "string" && isHost(given) ? { value: given } : { mustBe }),
  };
}

/** Where a database is. Whoever puts a URL here, with a password in it, is not shown it again. */
export function databaseHost(doc: string): Setting<string> {
  const pattern = /^$|^\/[^\p{C}@]{0,4095}$|^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$|^::[A-Fa-f0-9.:]{1,45}$/u;
  return { ...matching("", pattern, "a host name, an address, or the directory of a socket", doc), hidden: true };
}
