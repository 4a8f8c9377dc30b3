// @ts-check
/**
 * Sends ADT messages, each after the acknowledgement of the one before, and prints what is answered.
 *
 *   node examples/hospital/send.mjs [how many] [host:port ...]
 *
 * A connection that is lost is made again, to the next of the addresses, and the message that was not acknowledged goes out
 * once more with the same control id: who has taken it in already answers as it did the first time. So it does after AE.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { field, framed, onFrames } from "./mllp.mjs";

const count = Number(process.argv[2] ?? 20);
const port = process.env.HOSPITAL_ADT_PORT ?? "2575";
const addresses = process.argv.length > 3 ? process.argv.slice(3) : [`127.0.0.1:${port}`];
if (!Number.isInteger(count) || count < 1 || addresses.some((address) => !/^.+:\d+$/.test(address))) {
  console.error("usage: node examples/hospital/send.mjs [how many] [host:port ...]");
  process.exit(2);
}

const answerMs = 10_000;
const againMs = 50;

/** Seven patients come, move three times and leave, over and over; so wards and beds change all the time. */
const patients = 7;
const events = ["A01", "A02", "A08", "A02", "A02", "A03"];
const wards = ["MED", "ICU", "SUR", "REH"];
const run = Date.now().toString(36);

/** @param {number} number */
function message(number) {
  const patient = number % patients;
  const step = Math.floor(number / patients);
  const event = events[step % events.length];
  const ward = wards[(patient + step) % wards.length];
  const time = new Date().toISOString().replaceAll(/[-:T]|\..*/g, "");
  return [
    `MSH|^~\\&|HIS|HOSPITAL|ENGINE|HOSPITAL|${time}||ADT^${event}|${run}-${number}|P|2.5`,
    `EVN|${event}|${time}`,
    `PID|1||P${1000 + patient}^^^HOSPITAL||TEST^PATIENT ${patient}||19700101|F|||||||||||000-00-${1000 + patient}`,
    `PV1|1|I|${ward}^${(step % 9) + 1}^${(number % 4) + 1}`,
    "",
  ].join("\r");
}

let sent = 0;
/** As it is until it is acknowledged: with another time in it, what is sent again would be another message. */
let next = message(sent);
for (let turn = 0; sent < count; turn += 1) {
  const address = /** @type {string} */ (addresses[turn % addresses.length]);
  try {
    await sendOver(address);
  } catch (error) {
    console.log(`not sent to ${address}: ${error instanceof Error ? error.message : String(error)}`);
    await pause(againMs);
  }
}
console.log(`${count} messages sent, each acknowledged`);

/** @param {string} address */
async function sendOver(address) {
  const [, host = "", at = ""] = address.match(/^(.+):(\d+)$/) ?? [];
  const socket = connect({ host, port: Number(at), noDelay: true });
  /** @type {((message: string) => void)} */
  let answered = () => undefined;
  const lost = once(socket, "close").then(() => Promise.reject(new Error("the connection is gone")));
  lost.catch(() => undefined);
  socket.on("error", () => undefined); // It closes, too.
  socket.setTimeout(answerMs, () => socket.destroy());
  onFrames(socket, (ack) => answered(ack));
  try {
    await Promise.race([once(socket, "connect"), lost]);
    console.log(`connected to ${address}`);
    while (sent < count) {
      /** @type {Promise<string>} */
      const answer = new Promise((resolve) => {
        answered = resolve;
      });
      socket.write(framed(next));
      const ack = await Promise.race([answer, lost]);
      const code = field(ack, "MSA", 1);
      console.log(`${code} ${field(ack, "MSA", 2)} ${field(ack, "MSA", 3)}`.trimEnd());
      if (code === "AE") throw new Error("it was not taken in: once more");
      sent += 1;
      next = message(sent);
    }
  } finally {
    socket.destroy();
  }
}
