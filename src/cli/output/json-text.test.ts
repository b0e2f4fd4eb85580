import fc from "fast-check";
import { expect, it } from "vitest";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { jsonText } from "./json-text.js";

it("leaves letters of every language as they are", () => {
  expect(jsonText({ name: "Zoë 李 😀" })).toBe('{"name":"Zoë 李 😀"}');
});

it("escapes what would act or hide on a terminal", () => {
  expect(jsonText("\x1b[2J\u009b\u202e\u{e0001}\ud800")).toBe(
    '"\\u001b[2J\\u009b\\u202e\\udb40\\udc01\\ud800"',
  );
});

it("means the same as the value, and is visible as it stands", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
      const text = jsonText(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(escapeUnsafe(text)).toBe(text);
    }),
  );
});
