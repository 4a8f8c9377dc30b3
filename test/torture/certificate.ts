import { fileURLToPath } from "node:url";

/** Of everything that speaks TLS in a run. Nobody looks at the name in it. */
export const certificate = {
  crt: fileURLToPath(new URL("../support/tls/localhost.crt", import.meta.url)),
  key: fileURLToPath(new URL("../support/tls/localhost.key", import.meta.url)),
};
