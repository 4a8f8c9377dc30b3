import Type, { type Static, type TSchema } from "typebox";

/** What the schemas of several resources are made of. */

/** As `["number", "null"]` and not as a choice of two schemas: shorter to read, and faster to write out. */
export function nullable<Inner extends TSchema & { readonly type: string }>(
  inner: Inner,
): ReturnType<typeof Type.Unsafe<Static<Inner> | null>> {
  return Type.Unsafe<Static<Inner> | null>({ ...inner, type: [inner.type, "null"] });
}

/** An object without any other field. */
export function exactly<Properties extends Record<string, TSchema>>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

/** Seconds since 1970 by the database's clock, with a fraction. */
export const time = Type.Number({ description: "Seconds since 1970, by the database's clock" });
export const epoch = Type.Integer({ minimum: 0, description: "The fencing token" });
export const postureName = Type.Enum(["LEADER", "STANDBY", "DRAINING"]);

export const roleName = Type.String({ minLength: 1, maxLength: 63, description: "A role of an election" });
export const nodeName = Type.String({ pattern: "^[\\x20-\\x7e]{1,200}$", description: "A node's id" });

export const noQuery = exactly({});
export const noBody = exactly({});

export const secondsOf = (ms: number): number => ms / 1000;
export const secondsOrNull = (ms: number | null): number | null => (ms === null ? null : secondsOf(ms));
