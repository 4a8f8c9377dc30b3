import { describe, expect, it } from "vitest";
import { meantOf } from "./meant-name.js";

describe("the end of a sentence about a name that is not known", () => {
  it("names all there are, where they are few", () => {
    expect(meantOf("lap", ["lab"])).toBe(': there is "lab".');
    expect(meantOf("lap", ["lab", "pharmacy"])).toBe(': there are "lab", "pharmacy".');
  });

  it("names the one that was probably meant, where they are many", () => {
    const names = ["lab-1", "lab-2", "lab-3", "lab-4", "lab-5", "pharmacy"];
    expect(meantOf("pharmcy", names)).toBe('. Did you mean "pharmacy"?');
  });

  it("ends at once where there is none", () => {
    expect(meantOf("lab", [])).toBe(".");
  });
});
