import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeFileName } from "../../kit/escape-unsafe.js";
import { PathTraversalError } from "./file-errors.js";
import { parseInnerPath, parseRelativePath } from "./relative-path.js";

describe("parseRelativePath", () => {
  it.each([
    ["a", "a"],
    ["a/b", "a/b"],
    ["./a//b/./c/", "a/b/c"],
    [".", ""],
    ["...", "..."],
    ["..a/b..", "..a/b.."],
    ["%2e%2e/a", "%2e%2e/a"],
    ["..\\..\\a", "..\\..\\a"],
  ])("reads %j as %j", (path, text) => {
    expect(parseRelativePath(path).text).toBe(text);
  });

  it.each([["/etc/passwd"], ["//a"], [".."], ["../a"], ["a/.."], ["a/../b"], ["a/../../b"], ["./.."]])(
    "throws PathTraversalError for %j",
    (path) => {
      expect(() => parseRelativePath(path)).toThrow(PathTraversalError);
    },
  );

  it.each([
    ["nothing", ""],
    ["NUL", "a\0b"],
    ["a lone surrogate", "a\udc2e"],
    ["a long name", "é".repeat(128)],
    ["a long path", "abc/".repeat(1025)],
    ["a deep path", "a/".repeat(257)],
    ["an object", {}],
  ])("rejects %s", (_, path) => {
    expect(() => parseRelativePath(path)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it("never lets a component through that the kernel would not read as a plain name", () => {
    const piece = fc.oneof(fc.constantFrom("..", ".", "", "/", "\0", "a"), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        try {
          for (const name of parseRelativePath(pieces.join("/")).components) {
            expect(name).not.toMatch(/^\.{0,2}$|[/\0]/);
          }
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(PATH_TRAVERSAL|INVALID_ARGUMENT)$/) });
        }
      }),
    );
  });
});

describe("parseInnerPath", () => {
  it("refuses the workspace itself", () => {
    expect(() => parseInnerPath("./")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("escapeFileName", () => {
  it("shows what would act on a terminal or hide", () => {
    expect(escapeFileName("a\u001b[2J\r\n\u202egpj\u200b.\ud800é")).toBe(
      "a\\x1b[2J\\x0d\\x0a\\u{202e}gpj\\u{200b}.\\u{d800}é",
    );
  });
});
