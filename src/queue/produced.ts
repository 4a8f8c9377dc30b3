import { HoldfastError } from "../errors.js";
import { cut } from "./core/failure-reason.js";
import { checkMessage, type Produced } from "./message.js";

/** What a queue takes in. */
export interface IntakeBounds {
  readonly stages: readonly string[];
  readonly maxBodyBytes: number;
}

export type ReadProduced =
  | { readonly kind: "messages"; readonly produced: readonly Produced[] }
  | { readonly kind: "garbage"; readonly reason: string };

/** What is produced by one message is taken in by one commit. */
const mostProduced = 10_000;
const mostProducedBytes = 268_435_456;
const nothing: ReadProduced = { kind: "messages", produced: [] };

/** Takes what a handler returned for messages, or says why it is none. Nothing is taken in of an array with one bad message. */
export function readProduced(value: unknown, bounds: IntakeBounds): ReadProduced {
  if (value === undefined) return nothing;
  if (!Array.isArray(value)) {
    return garbage(`the handler returned ${kindOf(value)} instead of nothing or an array of messages`);
  }
  if (value.length > mostProduced) {
    return garbage(`the handler returned ${value.length} messages, and ${mostProduced} are the most`);
  }
  const produced: Produced[] = [];
  let bytes = 0;
  for (const item of value as readonly unknown[]) {
    const place = `message ${produced.length + 1} that the handler returned`;
    if (typeof item !== "object" || item === null) return garbage(`${place} is ${kindOf(item)} instead of a message`);
    try {
      const message = checked(item, bounds);
      bytes += Buffer.byteLength(message.body);
      if (bytes > mostProducedBytes) return garbage(`the handler returned more than ${mostProducedBytes} bytes`);
      produced.push(message);
    } catch (error) {
      return garbage(`${place} is refused: ${error instanceof HoldfastError ? error.message : "it cannot be read"}`);
    }
  }
  return { kind: "messages", produced };
}

/** Each field is read once, so that what was checked is what is taken in. A message handed on has null where it has no key. */
function checked(item: Partial<Record<keyof Produced, unknown>>, { stages, maxBodyBytes }: IntakeBounds): Produced {
  const { stage, lane, body, key, headers, delayMs } = item;
  if (typeof stage !== "string") throw refused("It names no stage.");
  if (headers !== undefined && headers !== null && typeof headers !== "object")
    throw refused("Its headers are no object.");
  const message = {
    stage,
    lane,
    body,
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(key === undefined || key === null ? {} : { key }),
    ...(headers === undefined || headers === null ? {} : { headers: { ...headers } }),
  } as Produced;
  checkMessage(message, stages, maxBodyBytes);
  return message;
}

function kindOf(value: unknown): string {
  return value === null ? "null" : `a value of type ${typeof value}`;
}

function garbage(reason: string): ReadProduced {
  return { kind: "garbage", reason: cut(reason) };
}

function refused(message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", message);
}
