import { describe, expect, it } from "vitest";
import { asTemplate, filledIn, refusedSummary } from "./summary.js";

describe("a summary", () => {
  it("has the labels and the value of its alert filled in", () => {
    const summary = "{{ $labels.role }} on {{$labels.node}}: {{ $value }}{{ $labels.constructor }}";
    expect(filledIn(summary, { role: "scheduler", node: "$& {{ $value }}" }, 6)).toBe(
      "scheduler on $& {{ $value }}: 6",
    );
  });

  it.each([
    [0, "0"],
    [5.25, "5.25"],
    [1e20, "100000000000000000000"],
    [1e21, "1e+21"],
    [0.0001, "0.0001"],
    [0.00005, "5e-05"],
    [1.5e-10, "1.5e-10"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NEGATIVE_INFINITY, "-Inf"],
  ])("shows %d as Prometheus does", (value, shown) => {
    expect(filledIn("{{ $value }}", {}, value)).toBe(shown);
  });

  it("is refused where it asks for more than that", () => {
    expect(refusedSummary("{{ $labels.a }} and {{ $value }}")).toBeNull();
    expect(refusedSummary("{{ humanize $value }}")).toContain("only $value and $labels.name");
    expect(refusedSummary("{{ $value }")).toContain("only $value");
  });

  it("is a template of Prometheus, in which nothing else is one", () => {
    expect(asTemplate('{{ $value }} of {{ query "up" }} {{{ $labels.a }}')).toBe(
      '{{ $value }} of {{ "{{" }} query "up" }} {{{ $labels.a }}',
    );
  });
});
