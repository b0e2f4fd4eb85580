import fc from "fast-check";
import { expect, it } from "vitest";
import { parseAnswer } from "./answer.js";

it.each([
  [{ decision: "approve", scope: "once" }],
  [{ decision: "approve", scope: "session", by: "ada" }],
  [{ decision: "edit", code: "print(1)", by: "ada" }],
  [{ decision: "reject" }],
  [{ decision: "reject", reason: "no" }],
])("takes %j as it is", (answer) => {
  expect(parseAnswer(answer)).toEqual(answer);
});

it.each([
  ["nothing", undefined],
  ["null", null],
  ["a text", "approve"],
  ["true", true],
  ["no decision", {}],
  ["another decision", { decision: "allow", scope: "once" }],
  ["an approval without a scope", { decision: "approve" }],
  ["an approval with another scope", { decision: "approve", scope: "forever" }],
  ["an edit without code", { decision: "edit" }],
  ["an edit to nothing", { decision: "edit", code: " \n" }],
  ["an edit to a number", { decision: "edit", code: 1 }],
  ["an edit that is too long", { decision: "edit", code: "x".repeat(16 * 1024 * 1024 + 1) }],
  ["a rejection for a number", { decision: "reject", reason: 1 }],
  ["a signature that is no text", { decision: "approve", scope: "once", by: { name: "ada" } }],
  ["inherited fields", Object.create({ decision: "approve", scope: "once" })],
  ["a JSON prototype", JSON.parse('{"__proto__":{"decision":"approve","scope":"once"}}')],
  [
    "fields that throw",
    {
      get decision(): string {
        throw new Error("no");
      },
    },
  ],
])("takes %s for no answer", (_, input) => {
  expect(parseAnswer(input)).toBeUndefined();
});

it("drops what does not belong and cuts what is too long", () => {
  const input = {
    decision: "reject",
    reason: "r".repeat(5000),
    by: "b".repeat(5000),
    scope: "session",
    extra: 1,
  };
  expect(parseAnswer(input)).toEqual({ decision: "reject", reason: "r".repeat(2000), by: "b".repeat(200) });
});

it("never throws and never makes an approval of anything else", () => {
  fc.assert(
    fc.property(fc.anything(), (input) => {
      const parsed = parseAnswer(input);
      if (parsed?.decision === "approve") expect(input).toMatchObject({ decision: "approve" });
    }),
  );
});
