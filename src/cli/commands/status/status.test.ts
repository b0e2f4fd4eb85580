import { expect, it } from "vitest";
import { createPaint } from "../../../guard/confirmation/paint.js";
import { describeChecks } from "./status.js";

const plain = createPaint(false, {});

it("has a line for each check, what to do below it, and the hosts that were denied", () => {
  const checks = [
    { name: "pool", what: "w", ok: true, found: "2 idle" },
    { name: "network", what: "w", ok: false, found: "9 denied", todo: "See skerry egress log." },
  ];
  expect(describeChecks(checks, [{ host: "a.example", count: 9 }], plain)).toBe(
    [
      "ok         pool        2 idle",
      "attention  network     9 denied",
      "                       denied most: a.example 9",
      "                       See skerry egress log.",
      "1 line needs attention",
      "",
    ].join("\n"),
  );
  expect(describeChecks(checks.slice(0, 1), [], plain)).toBe("ok         pool        2 idle\nall in order\n");
});

it("shows what a server says in a form in which nothing acts, and colours on a terminal only", () => {
  const check = { name: "p\u001b[2J", what: "", ok: false, found: "a\nok  b\u202e", todo: "\u009b" };
  const text = describeChecks([check], [], plain);
  expect(text.split("\n")).toHaveLength(4);
  expect(text).toMatch(/^[\x20-\x7e\n]*$/);
  expect(describeChecks([check], [], createPaint(true, {}))).toContain("\u001b[33mattention");
});
