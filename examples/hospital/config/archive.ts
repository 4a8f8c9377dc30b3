import { defineHandler, defineOutbound, send } from "holdfast/engine";
import { places } from "./places.js";

/** As it came, byte for byte. */
export const toArchive = defineHandler({
  name: "to-archive",
  outbounds: ["archive"],
  handle: (message) => [send("archive", message.body)],
});

/** With the id in its name, a file that is written a second time is found to be there. */
export const archive = defineOutbound({
  name: "archive",
  transport: { kind: "file", folder: places.archive, fileName: "{controlId}-{id}.hl7" },
  retry: { backoff: "200ms", cap: "10s" },
});
