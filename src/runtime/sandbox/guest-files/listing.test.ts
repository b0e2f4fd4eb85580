import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SandboxError } from "../../../kit/errors.js";
import { entryOfFound, Listing, parseRecord } from "./listing.js";

const NUL = Buffer.from([0]);
const record = (header: string, path: string) => Buffer.from(`${header}\n${path}\0`, "latin1");
const GOOD = "f 644 12 1700000000.1234567890 1700000001.5000000000 77";

/** The pieces that a stream might come in. */
function* split(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = sizes.length === 0 ? bytes.length : Math.max(1, sizes[index % sizes.length]!);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

describe("a record", () => {
  it("is taken apart with all its digits, from GNU's find and from a plain one", () => {
    const found = parseRecord(Buffer.from(`${GOOD}\n./a/b\nc`));
    expect(found).toEqual({
      path: "a/b\nc",
      type: "file",
      shown: "a device",
      mode: 0o644,
      size: 12n,
      mtimeNs: 1_700_000_000_123_456_789n,
      ctimeNs: 1_700_000_001_500_000_000n,
      ino: 77n,
    });
    expect(entryOfFound(found)).toEqual({
      path: "a/b\nc",
      type: "file",
      size: 12,
      mode: 0o644,
      modifiedMs: 1_700_000_000_123.456,
    });
    expect(parseRecord(Buffer.from("x 41c0 4096 1700000000 -1 5\n./d"))).toMatchObject({
      path: "d",
      type: "directory",
      mode: 0o700,
      mtimeNs: 1_700_000_000_000_000_000n,
      ctimeNs: -1_000_000_000n,
    });
  });

  it.each([
    ["f", "file", "a device"],
    ["d", "directory", "a directory"],
    ["l", "symlink", "a device"],
    ["p", "other", "a FIFO"],
    ["s", "other", "a socket"],
    ["c", "other", "a device"],
    ["?", "other", "a device"],
  ])("of kind %s is of type %s", (letter, type, shown) => {
    expect(parseRecord(Buffer.from(`${letter}${GOOD.slice(1)}\n./x`))).toMatchObject({ type, shown });
  });

  it.each([
    ["nothing", ""],
    ["no path", GOOD],
    ["an absolute path", `${GOOD}\n/etc/passwd`],
    ["a path that goes up", `${GOOD}\n./../x`],
    ["a path that goes up in the middle", `${GOOD}\n./a/../../x`],
    ["a path with an empty name", `${GOOD}\n./a//b`],
    ["a path that ends in a slash", `${GOOD}\n./a/`],
    ["a path from nowhere", `${GOOD}\na`],
    ["a name that no file can have", `${GOOD}\n./${"n".repeat(256)}`],
    ["a size below zero", "f 644 -1 1 1 1\n./x"],
    ["a size without end", `f 644 ${"9".repeat(30)} 1 1 1\n./x`],
    ["a mode that is none", "f 999 1 1 1 1\n./x"],
    ["numbers of another kind", "f 644 0x10 1 1 1\n./x"],
    ["one number too many", "f 644 1 1 1 1 1\n./x"],
  ])("with %s is none", (_, text) => {
    expect(() => parseRecord(Buffer.from(text))).toThrow(expect.objectContaining({ code: "FILE_FAILED" }));
  });
});

describe("a listing", () => {
  it("is the same in whatever pieces it comes", () => {
    const names = fc.uniqueArray(
      fc
        .uint8Array({ minLength: 1, maxLength: 40 })
        .map((bytes) => Buffer.from(bytes).toString("latin1").replaceAll(/[\0/]/g, "_"))
        .filter((name) => name !== "." && name !== ".."),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(names, fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 10 }), (all, sizes) => {
        const bytes = Buffer.concat(all.map((name) => record(GOOD, `./${name}`)));
        const listing = new Listing({ maxEntries: 100, maxDepth: 64 });
        for (const piece of split(bytes, sizes)) expect(listing.push(piece)).toBe(true);
        expect(listing.found.map(({ path }) => path)).toEqual(all);
        expect(listing.truncated).toBe(false);
      }),
    );
  });

  it("ends at its limit, and takes nothing more", () => {
    const listing = new Listing({ maxEntries: 2, maxDepth: 64 });
    const three = Buffer.concat(["a", "b", "c"].map((name) => record(GOOD, `./${name}`)));
    expect(listing.push(three)).toBe(false);
    expect(listing.push(three)).toBe(false);
    expect([listing.found.map(({ path }) => path), listing.truncated]).toEqual([["a", "b"], true]);
  });

  it("is refused when it goes deeper than was asked, or never ends a record", () => {
    const shallow = new Listing({ maxEntries: 10, maxDepth: 1 });
    expect(() => shallow.push(record(GOOD, "./a/b"))).toThrow(SandboxError);
    const endless = new Listing({ maxEntries: 10, maxDepth: 64 });
    expect(() => {
      for (let i = 0; i < 10_000; i++) endless.push(Buffer.alloc(1024, "x"));
    }).toThrow(expect.objectContaining({ code: "FILE_FAILED" }));
  });

  it("survives any bytes, and never gives a path that leaves", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc
        .tuple(fc.constantFrom(GOOD, "d 755 1 1 1 1", "x 81a4 1 1 1 1"), fc.string({ maxLength: 30 }))
        .map(([header, path]) => record(header, `./${path}`)),
      fc.constantFrom(NUL, Buffer.from("\n"), record(GOOD, "./../../etc/passwd"), record(GOOD, "/etc")),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (chunks) => {
        const listing = new Listing({ maxEntries: 10, maxDepth: 64 });
        try {
          for (const chunk of chunks) if (!listing.push(chunk)) break;
        } catch (error) {
          expect(error).toMatchObject({ code: "FILE_FAILED" });
        }
        expect(listing.found.length).toBeLessThanOrEqual(10);
        for (const { path } of listing.found) {
          expect(path === "" || !path.split("/").some((name) => ["", ".", ".."].includes(name))).toBe(true);
        }
      }),
    );
  });
});
