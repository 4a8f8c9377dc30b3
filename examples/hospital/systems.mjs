// @ts-check
/**
 * Plays the three systems that the feed goes to, and prints what each of them gets: the laboratory (MLLP), the pharmacy (HTTP)
 * and the archive (a folder, which it makes).
 *
 *   node examples/hospital/systems.mjs
 *
 * Each knows again what it has had before, as a receiver should: after a crash the last message may come a second time.
 */
import { mkdirSync, readdirSync, watch } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { field, framed, onFrames } from "./mllp.mjs";

const labPort = Number(process.env.HOSPITAL_LAB_PORT ?? 6661);
const pharmacyPort = Number(new URL(process.env.HOSPITAL_PHARMACY_URL ?? "http://127.0.0.1:8081").port);
const archive = process.env.HOSPITAL_ARCHIVE ?? join(import.meta.dirname, "archive");

/** @type {Set<string>} */
const known = new Set();

/**
 * @param {string} system
 * @param {string} key what the same message has in common with itself
 * @param {string} what
 */
function got(system, key, what) {
  const isAgain = known.has(`${system} ${key}`);
  known.add(`${system} ${key}`);
  console.log(`${system} ${isAgain ? "got again" : "got"} ${what}`);
}

const lab = createServer((socket) => {
  socket.on("error", () => undefined);
  onFrames(socket, (message) => {
    const id = field(message, "MSH", 10);
    got("lab", id, `${id} ${field(message, "MSH", 9)} ${field(message, "PID", 3)} ${field(message, "PV1", 3)}`);
    const header = `MSH|^~\\&|LAB|HOSPITAL|ENGINE|HOSPITAL|${field(message, "MSH", 7)}||ACK|A-${id}|P|2.5`;
    socket.write(framed(`${header}\rMSA|AA|${id}\r`));
  });
});

const pharmacy = createHttpServer((request, response) => {
  text(request).then(
    (body) => {
      got("pharmacy", String(request.headers["idempotency-key"]), body);
      response.writeHead(204).end();
    },
    () => response.destroy(), // The sender ended while it was sending.
  );
});

mkdirSync(archive, { recursive: true });
for (const name of readdirSync(archive)) known.add(`archive ${name}`);
watch(archive, () => {
  for (const name of readdirSync(archive)) {
    if (!name.startsWith(".") && !known.has(`archive ${name}`)) got("archive", name, name);
  }
});

lab.listen(labPort, "127.0.0.1", () => {
  pharmacy.listen(pharmacyPort, "127.0.0.1", () => console.log(`lab, pharmacy and archive (${archive}) are there`));
});
