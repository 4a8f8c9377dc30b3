import { defineHandler, defineOutbound, send } from "holdfast/engine";
import { places } from "./places.js";

/** The pharmacy's carts go to beds. It takes JSON, and has to know which bed a patient has left: the feed does not say. */
export const toPharmacy = defineHandler({
  name: "to-pharmacy",
  outbounds: ["pharmacy"],
  references: ["wards"],
  state: ["beds"],
  handle: (message, { reference, state }) => {
    const hl7 = message.hl7();
    const patient = hl7.get("PID-3.1");
    const isDischarge = message.type === "ADT^A03";
    const bed = isDischarge ? null : `${hl7.get("PV1-3.1")}-${hl7.get("PV1-3.3")}`;
    const beds = state("beds");
    const left = beds.get(patient) ?? null;
    if (bed === null) beds.delete(patient);
    else beds.set(patient, bed);
    const ward = reference("wards").get(hl7.get("PV1-3.1"))?.name ?? null;
    const movement = { control_id: message.controlId, event: hl7.get("MSH-9.2"), patient, bed, left, ward };
    return [send("pharmacy", JSON.stringify(movement))];
  },
});

export const pharmacy = defineOutbound({
  name: "pharmacy",
  transport: { kind: "http", url: places.pharmacyUrl, contentType: "application/json", replyTimeout: "10s" },
  retry: { backoff: "200ms", cap: "10s" },
});
