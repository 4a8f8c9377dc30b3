import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRegex } from "./regex.js";

function matcher(source: string): (text: string) => boolean {
  const parsed = parseRegex(source);
  if (parsed.kind === "refused") throw new Error(`${source}: ${parsed.reason}`);
  return (text) => parsed.regex.matches(text);
}

describe("a pattern", () => {
  it.each([
    ["a|b", ["a", "b"], ["", "ab", "c", "xa"]],
    ["", [""], ["a"]],
    [".+", ["x", "ö", "🙂"], ["", "\n"]],
    ["5..", ["500", "5ab"], ["50", "5000"]],
    ["[a-c]x?", ["a", "bx"], ["d", "axx"]],
    ["[^a-c]+", ["xyz"], ["xa", ""]],
    ["[]a]+", ["]a"], ["b"]],
    ["[a-]+", ["a-a"], ["b"]],
    ["\\d{2,3}", ["12", "123"], ["1", "1234"]],
    ["(ab){2}", ["abab"], ["ab", "ababab"]],
    ["x{,2}", ["x{,2}"], ["x", "xx"]],
    ["(x{1000}){0}(y{2}){500}", ["y".repeat(1_000)], ["x", ""]],
    ["\\.\\*\\x41\\x{1F642}", [".*A🙂"], ["..A🙂"]],
    ["(?i)node-[a-f]", ["NODE-A", "node-F"], ["node-g"]],
    ["^a$", ["a"], ["aa"]],
    ["a^b|c", ["c"], ["ab", "a^b"]],
    ["(a|)+b*?", ["", "aab", "b"], ["ba"]],
    ["[\\w.-]+@\\S+", ["a.b-c@d"], ["a b@c", "@c"]],
    ["[^\\D5]", ["4"], ["5", "x"]],
  ])("%j matches whole texts, as RE2 does", (source, those, others) => {
    const matches = matcher(source);
    expect(those.filter((text) => !matches(text))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  it.each([
    ["(", 'it has a "(" without its ")"'],
    [")", 'it has a ")" without its "("'],
    ["[a", 'it has a "[" without its "]"'],
    ["*a", 'nothing is there for "*" to repeat'],
    ["a**", "it repeats a repetition; put the inner one in parentheses"],
    ["a\\", "it ends with a backslash"],
    ["\\b", '"\\b" is not known'],
    ["(?=a)", 'of the groups that start with "(?" only "(?:" is known, and "(?i)" at the very start'],
    ["[[:alpha:]]", 'classes like "[:alpha:]" are not known; write the characters'],
    ["[z-a]", "it has a range of characters without a sense"],
    ["a{3,2}", '"{3,2}" is no repetition; the limit is 1000'],
    ["(abc){1000}", "it is too long, with its repetitions written out"],
    ["(a{1000}){3}", "it repeats repetitions more than 1000 times in all"],
    ["(((){1000}){1000}){1000}", "it repeats repetitions more than 1000 times in all"],
    ["((|a{0}){40,}x){30}", "it repeats repetitions more than 1000 times in all"],
    ["(".repeat(200) + ")".repeat(200), "it nests more than 100 groups"],
  ])("%j is refused", (source, reason) => {
    expect(parseRegex(source)).toEqual({ kind: "refused", reason });
  });

  it("takes no longer where others would go back and forth for ages", () => {
    const text = `${"a".repeat(1_000)}!`;
    expect(matcher("(a+)+")(text)).toBe(false);
    expect(matcher("(a|aa)*(a|aa)*b")(text)).toBe(false);
    expect(matcher("(.*)(.*)(.*)(.*)x")(text)).toBe(false);
  });

  it("says the same as JavaScript where both know it", () => {
    const atom = fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\w", "\\d", "\\.", "c");
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie("pattern"), tie("pattern")).map((both) => both.join("")),
        fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `(?:${a}|${b})`),
        fc
          .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "*?"))
          .map(([a, times]) => `(${a})${times}`),
      ),
    }));
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", ".", "1", "ö"), maxLength: 6 });
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 5 }), (source, texts) => {
        const theirs = new RegExp(`^(?:${source})$`, "u");
        const ours = matcher(source);
        expect(texts.filter((one) => ours(one) !== theirs.test(one))).toEqual([]);
      }),
    );
  });
});
