import fc from "fast-check";
import { expect, it } from "vitest";
import { deliveryOf } from "../../../../test/support/transport-scene.js";
import { fileNameOf, nameProblem, numbered } from "./file-name.js";

const at = Date.UTC(2026, 10, 15, 13, 38, 31, 123);

it("fills in what the message says", () => {
  const template = "{type}-{controlId}-{id}-{connection}-{outbound}-{time}.hl7";
  expect(fileNameOf(template, deliveryOf("x"), at)).toBe("ADT_A01-MSG7-42-feed-lab-20261115T133831.123Z.hl7");
  expect(fileNameOf("{id}", deliveryOf("x", { headers: {} }), at)).toBe("_");
});

it("never leads out of the folder, hides the file or is too long, whatever the message says", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.string({ maxLength: 700 }), (evil, key) => {
      const headers = { id: evil, type: evil, control_id: evil, connection: evil, outbound: evil };
      const template = "{id}{type}{controlId}";
      const name = fileNameOf(template, deliveryOf("x", { headers, idempotencyKey: key }), at);
      expect(name).toMatch(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/);
      expect(name.length).toBeLessThanOrEqual(200);
      expect(fileNameOf("k{key}", deliveryOf("x", { idempotencyKey: key }), at)).toMatch(/^k[A-Za-z0-9._~-]{0,120}$/);
    }),
  );
  expect(fileNameOf("{id}", deliveryOf("x", { headers: { id: "../../etc/passwd" } }), at)).toBe("_.._.._etc_passwd");
});

it("gives two keys two names", () => {
  const nameOf = (key: string) => fileNameOf("{key}", deliveryOf("x", { idempotencyKey: key }), at);
  expect(nameOf("lab/7")).not.toBe(nameOf("lab_7"));
  expect(nameOf("lab/7")).not.toBe(nameOf("lab~2f7"));
  expect(nameOf(`${"a".repeat(200)}1`)).not.toBe(nameOf(`${"a".repeat(200)}2`));
});

it("says what is wrong with a template", () => {
  expect(nameProblem("{type}-{id}.hl7")).toBeNull();
  expect(nameProblem("in/{id}")).toContain('without "/"');
  expect(nameProblem(".{id}")).toContain("dot");
  expect(nameProblem("{ID}")).toContain("not {ID}");
});

it("numbers names before their end", () => {
  expect([1, 2].map((nth) => numbered("a.b.hl7", nth))).toEqual(["a.b.hl7", "a.b-2.hl7"]);
  expect(numbered("plain", 3)).toBe("plain-3");
});
