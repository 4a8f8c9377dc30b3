import { join } from "node:path";

/** Where the systems are. Each place can be changed by a variable; on every node it must then be the same. */
export const places = {
  adtPort: Number(process.env.HOSPITAL_ADT_PORT ?? 2575),
  labPort: Number(process.env.HOSPITAL_LAB_PORT ?? 6661),
  pharmacyUrl: process.env.HOSPITAL_PHARMACY_URL ?? "http://127.0.0.1:8081/movements",
  archive: process.env.HOSPITAL_ARCHIVE ?? join(import.meta.dirname, "../archive"),
};
