import { defineInbound, defineReference, defineRouter } from "holdfast/engine";
import { places } from "./places.js";

/** The hospital's ADT feed: who came, who moved, who left. */
export const adtIn = defineInbound({
  name: "adt-in",
  router: "adt",
  transport: { kind: "mllp", host: "127.0.0.1", port: places.adtPort },
});

/** Admission, transfer, discharge. */
const movements = ["ADT^A01", "ADT^A02", "ADT^A03"];

/** Everything is archived; only movements concern the others. What is no ADT message stays unrouted, and can be found as such. */
export const adt = defineRouter({
  name: "adt",
  handlers: ["to-lab", "to-pharmacy", "to-archive"],
  route: ({ type }) => {
    if (movements.includes(type)) return ["to-lab", "to-pharmacy", "to-archive"];
    return type.startsWith("ADT^") ? ["to-archive"] : [];
  },
});

/** What is known of the wards. Change the file: within half a minute all nodes look things up in the new one. */
export const wards = defineReference({
  name: "wards",
  from: { kind: "file", path: "wards.csv" },
  key: "ward",
  every: "30s",
});
