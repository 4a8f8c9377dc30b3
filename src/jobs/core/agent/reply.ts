import { errorCodes, HoldfastError } from "../../../errors.js";

/** What came back over HTTP, or did not. */
export type Reply =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** It carries the headers of a node. */
      readonly isNode: boolean;
      /** As JSON; undefined where it is none. */
      readonly body: unknown;
    }
  | { readonly kind: "unreached"; readonly reason: string };

/** What that means for whoever asked. */
export type Verdict =
  | { readonly kind: "served"; readonly body: Fields }
  | { readonly kind: "elsewhere"; readonly leaderUrl: string | null }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** Nobody is there, or not now: the same may be asked again, here or elsewhere. */
  | { readonly kind: "later"; readonly reason: string };

export type Fields = Readonly<Record<string, unknown>>;

const noContent = 204;
/** Told to come again, by a node or by something before it. */
const passing: readonly number[] = [408, 425, 429];

export function judge(reply: Reply): Verdict {
  if (reply.kind === "unreached") return { kind: "later", reason: reply.reason };
  const { status, isNode, body } = reply;
  const fields = fieldsOf(body);
  if (status >= 200 && status < 300) {
    if (isNode && status === noContent) return { kind: "served", body: {} };
    if (isNode && fields !== null) return { kind: "served", body: fields };
    return stranger(status);
  }
  const code = fields === null ? null : textOf(fields.error);
  if (fields === null || code === null || !(isNode || isKnown(code))) return stranger(status);
  if (code === "NOT_LEADER") return { kind: "elsewhere", leaderUrl: addressOf(fields.leader_url) };
  const message = textOf(fields.message) ?? `it says ${code}`;
  if (status >= 500 || passing.includes(status)) return { kind: "later", reason: `${code}: ${message}` };
  return { kind: "refused", code, message };
}

/** Whether an error that came in place of one answer of many may be gone the next time. */
export function isPassing(code: string): boolean {
  const known = errorCodes.find((each) => each === code);
  return known === "NOT_LEADER" || (known !== undefined && new HoldfastError(known, "").status >= 500);
}

export function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function stranger(status: number): Verdict {
  return { kind: "later", reason: `what answers there (HTTP ${status}) is no Holdfast node` };
}

function isKnown(code: string): boolean {
  return errorCodes.some((each) => each === code);
}

/** Without the slashes at its end, so that one node has one address. */
function addressOf(value: unknown): string | null {
  const url = textOf(value);
  return url === null || !/^https?:\/\/[^/]/.test(url) ? null : url.replace(/\/+$/, "");
}
