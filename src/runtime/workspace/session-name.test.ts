import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sessionDirectoryName, validateSessionKey } from "./session-name.js";

const invalid = expect.objectContaining({ code: "SESSION_NAME_INVALID", hint: expect.any(String) });

describe("validateSessionKey", () => {
  it.each([
    ["nothing", ""],
    ["a number", 7],
    ["null", null],
    ["a newline", "a\nb"],
    ["CRLF", "a\r\nX-Header: 1"],
    ["NUL", "a\0b"],
    ["an escape sequence", "\u001b[2J"],
    ["a C1 control", "a\u0085b"],
    ["a lone surrogate", "a\ud800"],
    ["a slash", "../a"],
    ["a backslash", "..\\a"],
    ["201 characters", "a".repeat(201)],
    ["a gigantic text", "a".repeat(10_000_000)],
  ])("rejects %s", (_, key) => {
    expect(() => validateSessionKey(key)).toThrow(invalid);
  });

  it.each([["telegram:42"], ["a b"], ["用户:1"], [".."], ["🦭".repeat(200)]])("accepts %s", (key) => {
    expect(validateSessionKey(key)).toBe(key);
  });
});

describe("sessionDirectoryName", () => {
  it("is readable", () => {
    expect(sessionDirectoryName("Telegram:42")).toBe("telegram-42-f4bdadc60dc1d04cc22730461f1d23ed");
  });

  it("keeps apart names that look alike", () => {
    const keys = [
      "a:b",
      "a_b",
      "A:b",
      "a-b",
      "a b",
      "ａ:b",
      "а:b",
      "e\u0301",
      "\u00e9",
      "..",
      ".",
      "-",
      "--",
    ];
    expect(new Set(keys.map(sessionDirectoryName)).size).toBe(keys.length);
  });

  it("is always a safe file name, and different for different keys", () => {
    const key = fc.string({ unit: "binary", minLength: 1, maxLength: 60 }).filter((text) => {
      return !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/u.test(text);
    });
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(sessionDirectoryName(a)).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?-[0-9a-f]{32}$/);
        expect(sessionDirectoryName(a) === sessionDirectoryName(b)).toBe(a === b);
      }),
      { numRuns: 1000 },
    );
  });
});
