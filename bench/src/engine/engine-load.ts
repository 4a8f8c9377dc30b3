/** So many messages from senders that each wait for the acknowledgement of one before they send the next. */
export interface EngineLoad {
  readonly messages: number;
  /** Senders are spread over the interfaces in turn. */
  readonly senders: number;
  /** As fast as acknowledgements come, where it is null. */
  readonly perSecond: number | null;
  /** Whether the receivers are to get them all, too. */
  readonly delivers: boolean;
}

/** What became of a load. */
export interface Exchange {
  /** From the first message to the last acknowledgement; and to the last message that a receiver has acknowledged. */
  readonly ackedMs: number;
  readonly deliveredMs: number;
  /** Each sender's wait for an acknowledgement: from when it was due where the one before came late. */
  readonly ackP50: number;
  readonly ackP99: number;
}

const endOfFrame = Buffer.from("\x1c\r", "latin1");

/** What is in every message but its header: about 1 kB with it. */
const rest = [
  "EVN|A01|20260131113000",
  "PID|1||4711^^^HOSP^MR~8154^^^NATIONAL^NI||DOE^JANE^M||19700101|F|||1 MAIN STREET^^TOWN^^12345^DE||5554711",
  "NK1|1|DOE^JOHN|SPOUSE|1 MAIN STREET^^TOWN|5554712",
  "PV1|1|I|WARD7^ROOM12^BED2|||DOC17^ATTENDING^PHYSICIAN|||MED||||ADM|||DOC18^ADMITTING|INP|V4711|SELF",
  "OBX|1|NM|29463-7^BODY WEIGHT^LN||71|kg|||||F",
  "OBX|2|NM|8302-2^BODY HEIGHT^LN||178|cm|||||F",
  "AL1|1|DA|PENICILLIN^ALLERGY TO PENICILLIN|MO|RASH AND FEVER AFTER ADMINISTRATION",
  "DG1|1||I10^ESSENTIAL PRIMARY HYPERTENSION^ICD10||20260131|A",
  "IN1|1|PLAN12|INSURANCE7|HEALTH INSURANCE COMPANY NUMBER 7",
  `NTE|1||${"NOTHING ELSE IS KNOWN ABOUT THIS PATIENT AT THE MOMENT ".repeat(6)}`,
  "",
].join("\r");

export function framedMessage(controlId: string): Buffer {
  const header = `MSH|^~\\&|HIS|HOSP|HUB|HF|20260131113000||ADT^A01|${controlId}|P|2.5.1`;
  return Buffer.from(`\x0b${header}\r${rest}\x1c\r`, "latin1");
}

export function framedAck(controlId: string): Buffer {
  const header = `MSH|^~\\&|LAB|HOSP|HUB|HF|20260131113000||ACK|R${controlId}|P|2.5.1`;
  return Buffer.from(`\x0b${header}\rMSA|AA|${controlId}\r\x1c\r`, "latin1");
}

/** The tenth field of the header, found without looking at the rest. */
export function controlIdOf(frame: Buffer): string {
  let at = 0;
  for (let field = 0; field < 9; field++) at = frame.indexOf(0x7c, at) + 1;
  return frame.toString("latin1", at, frame.indexOf(0x7c, at));
}

/** Hands on each whole frame of a stream. Mostly a chunk is one: then nothing is copied. */
export function frameReader(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let left: Buffer | null = null;
  return (chunk) => {
    let bytes = left === null ? chunk : Buffer.concat([left, chunk]);
    left = null;
    for (let end = bytes.indexOf(endOfFrame); end >= 0; end = bytes.indexOf(endOfFrame)) {
      onFrame(bytes.subarray(1, end));
      bytes = bytes.subarray(end + endOfFrame.length);
    }
    if (bytes.length > 0) left = bytes;
  };
}
