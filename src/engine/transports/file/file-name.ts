import { createHash } from "node:crypto";
import type { Delivery } from "../transport.js";

/** What a file's name may be made of. */
const placeholders = ["id", "key", "type", "controlId", "connection", "outbound", "time"] as const;
type Placeholder = (typeof placeholders)[number];

const longestPart = 60;
const longestTemplate = 120;

/** How the sentence "it must be ..." ends; null where nothing is wrong. */
export function nameProblem(template: string): string | null {
  if (/[/\\\0]/.test(template)) return 'the name of a file, without "/"';
  if (template.startsWith(".")) return "a name that does not begin with a dot: those are hidden";
  if (template.length > longestTemplate) return `${longestTemplate} characters at most`;
  const unknown = [...template.matchAll(/\{([^}]*)\}/g)].find(
    ([, name]) => !placeholders.includes(name as Placeholder),
  );
  if (unknown !== undefined)
    return `made of ${placeholders.map((name) => `{${name}}`).join(", ")}, and not ${unknown[0]}`;
  return null;
}

/** The name of a message's file. What comes from the message cannot lead out of the folder, nor hide the file. */
export function fileNameOf(template: string, { headers, idempotencyKey }: Delivery, wallMs: number): string {
  const parts: Readonly<Record<Placeholder, string>> = {
    id: safe(headers.id),
    key: exact(idempotencyKey),
    type: safe(headers.type),
    controlId: safe(headers.control_id),
    connection: safe(headers.connection),
    outbound: safe(headers.outbound),
    time: new Date(wallMs).toISOString().replaceAll(/[:-]/g, ""),
  };
  const name = template.replaceAll(/\{(\w+)\}/g, (_whole, part: Placeholder) => parts[part]);
  return name.startsWith(".") ? `_${name}` : name;
}

/** The nth name to try where others are taken: a-2.hl7 after a.hl7. */
export function numbered(name: string, nth: number): string {
  if (nth <= 1) return name;
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? `${name}-${nth}` : `${name.slice(0, dot)}-${nth}${name.slice(dot)}`;
}

function safe(text = ""): string {
  const plain = text.slice(0, longestPart).replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return plain === "" ? "_" : plain;
}

/** Two keys never give the same name: what does not fit is written as its bytes, and what is too long ends as a digest. */
function exact(key: string): string {
  const escaped = [...Buffer.from(key)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9._-]/.test(character) ? character : `~${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
  if (escaped.length <= 2 * longestPart) return escaped;
  return `${escaped.slice(0, longestPart)}~${createHash("sha256").update(key).digest("hex").slice(0, 32)}`;
}
