import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pathOf, uriOf } from "./resource-uri.js";

describe("the address of a file", () => {
  it.each([
    ["src/main.py", "workspace:///src/main.py"],
    ["a b/ü?#%.txt", "workspace:///a%20b/%C3%BC%3F%23%25.txt"],
    ["line\nbreak\u202e", "workspace:///line%0Abreak%E2%80%AE"],
    ["%2e%2e", "workspace:///%252e%252e"],
  ])("of %j is %j", (path, uri) => {
    expect(uriOf(path)).toBe(uri);
    expect(pathOf(uri)).toBe(path);
  });

  it("leads back to the file, whatever its name is", () => {
    const name = fc
      .string({ unit: "binary", minLength: 1, maxLength: 30 })
      .filter((text) => !/[/\0]|^\.\.?$/.test(text));
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 5 }), (names) => {
        const uri = uriOf(names.join("/"));
        expect(uri).toMatch(/^workspace:\/\/\/[\w.!~*'()%/-]+$/);
        expect(pathOf(uri)).toBe(names.join("/"));
      }),
    );
  });

  it("may be one that a client made, with fewer characters encoded", () => {
    expect(pathOf("workspace:///a b/c?d#e.txt")).toBe("a b/c?d#e.txt");
    expect(pathOf("workspace:///a/./b//c")).toBe("a/b/c");
  });

  it.each([
    "",
    "workspace:///",
    "workspace:///.",
    "workspace://host/etc/passwd",
    "file:///etc/passwd",
    "WORKSPACE:///a",
    "workspace:////etc/passwd",
    "workspace:///../etc/passwd",
    "workspace:///a/../../etc/passwd",
    "workspace:///%2e%2e/etc/passwd",
    "workspace:///..%2fetc%2fpasswd",
    "workspace:///%2Fetc%2Fpasswd",
    "workspace:///a%00b",
    "workspace:///%ff",
    "workspace:///%",
    `workspace:///${"a/".repeat(300)}b`,
    `workspace:///${"a".repeat(20_000)}`,
  ])("is not %j", (uri) => {
    expect(() => pathOf(uri)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^(INVALID_ARGUMENT|PATH_TRAVERSAL)$/) }),
    );
  });
});
