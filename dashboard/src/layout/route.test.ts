import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hrefTo, routeOf } from "./route.js";

describe("where the page is", () => {
  it("is the overview without a word", () => {
    expect(routeOf("")).toMatchObject({ path: "/", rest: [] });
    expect(routeOf("#/")).toMatchObject({ path: "/", rest: [] });
  });

  it("is a page, what follows it, and its filters", () => {
    const route = routeOf("#/messages/42?status=error&text=a%20b");
    expect(route).toMatchObject({ path: "/messages", rest: ["42"] });
    expect(Object.fromEntries(route.query)).toEqual({ status: "error", text: "a b" });
  });

  it("is read as it stands where it is not encoded as it should be", () => {
    expect(routeOf("#/lanes/50%").rest).toEqual(["50%"]);
  });

  it("comes back as it was written, whatever names and filters hold", () => {
    const name = fc.string({ minLength: 1, unit: "grapheme" });
    fc.assert(
      fc.property(fc.array(name), fc.dictionary(fc.stringMatching(/^[a-z]+$/), name), (rest, query) => {
        const route = routeOf(hrefTo("/queue", rest, query));
        expect(route.rest).toEqual(rest);
        expect(Object.fromEntries(route.query)).toEqual({ ...query });
      }),
    );
  });
});
