// @ts-check
/** MLLP, as far as the sender and the systems of this example need it: VT, the message, FS and CR. */

const [begin, end, carriageReturn] = [0x0b, 0x1c, 0x0d];

/** @param {string} message */
export function framed(message) {
  return Buffer.from(`\x0b${message}\x1c\r`);
}

/**
 * Calls with the text of each whole frame, however the bytes are cut.
 *
 * @param {import("node:net").Socket} socket
 * @param {(message: string) => void} hear
 */
export function onFrames(socket, hear) {
  let held = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    held = Buffer.concat([held, chunk]);
    for (;;) {
      const from = held.indexOf(begin);
      const to = held.indexOf(Buffer.from([end, carriageReturn]), from);
      if (from < 0 || to < 0) return;
      const message = held.subarray(from + 1, to).toString();
      held = held.subarray(to + 2);
      hear(message);
    }
  });
}

/**
 * A field by segment and number, as it is written: ("MSH", 10), ("PID", 3).
 *
 * @param {string} message
 * @param {string} segment
 * @param {number} number
 */
export function field(message, segment, number) {
  const line = message.split("\r").find((text) => text.startsWith(`${segment}|`)) ?? "";
  // MSH-1 is the separator itself.
  return line.split("|")[segment === "MSH" ? number - 1 : number] ?? "";
}
