import { defineHandler, defineOutbound, send } from "holdfast/engine";
import { places } from "./places.js";

/** The laboratory collects samples on some wards only, and wants to know the building that it has to go to. */
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  references: ["wards"],
  handle: (message, { reference }) => {
    const hl7 = message.hl7();
    const ward = reference("wards").get(hl7.get("PV1-3.1"));
    if (ward?.lab !== "yes") return []; // Filtered: the lab does not go there.
    const { building } = ward;
    const sent = hl7
      .set("MSH-5", "LAB")
      .set("MSH-6", "HOSPITAL")
      .set("PV1-3.7", typeof building === "string" ? building : null)
      .set("PID-19", null); // The social security number is none of its business.
    return [send("lab", sent)];
  },
});

/** Messages of one patient stay in order; those of different patients do not wait for each other. */
export const lab = defineOutbound({
  name: "lab",
  transport: { kind: "mllp", host: "127.0.0.1", port: places.labPort, replyTimeout: "10s" },
  lane: (message) => message.hl7().get("PID-3.1"),
  lanes: 4,
  retry: { backoff: "200ms", cap: "10s" },
});
