import { existsSync } from "node:fs";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { block, pax, seal, tar } from "../../../../test/setup/raw-tar.js";
import { entriesOf, load } from "../../../../test/setup/snapshot-archives.js";
import {
  assertSound,
  kept,
  LIMITS,
  useSnapshotWorkspace,
} from "../../../../test/setup/snapshot-workspace.js";
import { waitUntil } from "../../../kit/wait-until.js";

useSnapshotWorkspace();

const refused = (why: string) => `The archive is refused: ${why}`;
const deep = Array(64).fill("d").join("/");
const ATTACKS: readonly (readonly [string, Buffer, string, string])[] = [
  ["a path that goes up", tar({ name: "a/../../x" }), "PATH_TRAVERSAL", 'The path "a/../../x" contains ".."'],
  ["an absolute path", tar({ name: "/etc/x" }), "PATH_TRAVERSAL", 'The path "/etc/x" is absolute'],
  [
    "a path that goes up, in parts",
    tar({ name: "x", prefix: ".." }),
    "PATH_TRAVERSAL",
    'The path "../x" contains ".."',
  ],
  [
    "a path that goes up, by pax",
    tar(pax({ path: "../x" }), { name: "fine" }),
    "PATH_TRAVERSAL",
    'The path "../x" contains ".."',
  ],
  [
    "a path that goes up, by a long name",
    tar(block({ name: "././@LongLink", type: "L", content: "../x\0", magic: "ustar  \0" }), {
      name: "fine",
      magic: "ustar  \0",
    }),
    "PATH_TRAVERSAL",
    'The path "../x" contains ".."',
  ],
  [
    "a NUL",
    tar(pax({ path: "a\0b" }), { name: "fine" }),
    "INVALID_ARGUMENT",
    'The path "a\\x00b" holds a NUL character',
  ],
  [
    "an over-long name",
    tar(pax({ path: "n".repeat(256) }), { name: "fine" }),
    "INVALID_ARGUMENT",
    `A name in the path "${"n".repeat(200)}…" is longer than 255 bytes`,
  ],
  [
    "an over-long path",
    tar(pax({ path: `${"n/".repeat(3000)}x` }), { name: "fine" }),
    "INVALID_ARGUMENT",
    `The path "${"n/".repeat(100)}…" is longer than 4096 bytes`,
  ],
  [
    "a path that is too deep",
    tar(pax({ path: deep }), { name: "fine" }),
    "INVALID_ARGUMENT",
    refused(`"${deep}" is more than 63 directories deep`),
  ],
  ["no name", tar({ name: "" }), "INVALID_ARGUMENT", "The path is empty"],
  [
    "a file for the workspace itself",
    tar({ name: "./." }),
    "INVALID_ARGUMENT",
    refused('"./." names the workspace itself, and is no directory'),
  ],
  [
    "escape sequences in a name",
    tar({ name: "\u001b]0;owned\u0007", type: "6" }),
    "INVALID_ARGUMENT",
    refused('"\\x1b]0;owned\\x07" is a FIFO'),
  ],
  [
    "a name that is not UTF-8",
    tar({ name: Buffer.from([0x61, 0xff]) }),
    "INVALID_ARGUMENT",
    refused('"aÿ" is a name that is not UTF-8'),
  ],
  [
    "a name of our own unfinished files",
    tar({ name: `d/.skerry-${"0".repeat(18)}.tmp` }),
    "INVALID_ARGUMENT",
    refused(`"d/.skerry-${"0".repeat(18)}.tmp" has a name that Skerry gives to its own files`),
  ],
  [
    "a hard link",
    tar({ name: "a" }, { name: "b", type: "1", link: "a" }),
    "INVALID_ARGUMENT",
    refused('"b" is a hard link'),
  ],
  ["a device", tar({ name: "zero", type: "3" }), "INVALID_ARGUMENT", refused('"zero" is a device')],
  ["a block device", tar({ name: "sda", type: "4" }), "INVALID_ARGUMENT", refused('"sda" is a device')],
  ["a FIFO", tar({ name: "fifo", type: "6" }), "INVALID_ARGUMENT", refused('"fifo" is a FIFO')],
  [
    "a contiguous file",
    tar({ name: "c", type: "7" }),
    "INVALID_ARGUMENT",
    refused('"c" is a contiguous file'),
  ],
  [
    "an old sparse file",
    tar({ name: "s", type: "S", magic: "ustar  \0" }),
    "INVALID_ARGUMENT",
    refused('"s" is of a kind that is not known'),
  ],
  [
    "a sparse file by pax",
    tar(pax({ "GNU.sparse.major": "1", "GNU.sparse.realsize": "99999999999" }), { name: "s" }),
    "INVALID_ARGUMENT",
    refused('"s" is a sparse file of an archive'),
  ],
  [
    "an absolute link",
    tar({ name: "l", type: "2", link: "/etc/passwd" }),
    "PATH_TRAVERSAL",
    refused('"l" is a link that leaves the workspace'),
  ],
  [
    "a link that goes up",
    tar({ name: "d/l", type: "2", link: "../../x" }),
    "PATH_TRAVERSAL",
    refused('"d/l" is a link that leaves the workspace'),
  ],
  [
    "a link that goes up behind a name",
    tar({ name: "d/l", type: "2", link: "a/../../x" }),
    "PATH_TRAVERSAL",
    refused('"d/l" is a link that leaves the workspace'),
  ],
  [
    "a link to nothing",
    tar({ name: "l", type: "2" }),
    "PATH_TRAVERSAL",
    refused('"l" is a link that leaves the workspace'),
  ],
  [
    "a link with a NUL",
    tar(pax({ linkpath: "a\0/b" }), { name: "l", type: "2", link: "a" }),
    "INVALID_ARGUMENT",
    refused('"l" is a link with an invalid target'),
  ],
  [
    "a file beneath a link",
    tar({ name: "l", type: "2", link: "d" }, { name: "l/f" }),
    "INVALID_ARGUMENT",
    refused('"l/f" is beneath "l", which is no directory'),
  ],
  [
    "a file beneath a file",
    tar({ name: "f" }, { name: "f/g/h" }),
    "INVALID_ARGUMENT",
    refused('"f/g/h" is beneath "f", which is no directory'),
  ],
  [
    "a link where files were beneath",
    tar({ name: "d/f" }, { name: "d", type: "2", link: "e" }),
    "INVALID_ARGUMENT",
    refused('"d" is in it twice, or something is beneath it'),
  ],
  [
    "a file twice",
    tar({ name: "f", content: "1" }, { name: "./f", content: "2" }),
    "INVALID_ARGUMENT",
    refused('"f" is in it twice, or something is beneath it'),
  ],
  [
    "a directory twice",
    tar({ name: "d/", type: "5" }, { name: "d//", type: "5" }),
    "INVALID_ARGUMENT",
    refused('"d" is in it twice, or something is beneath it'),
  ],
  [
    "a directory with content",
    tar({ name: "d", type: "5", content: "x".repeat(600) }),
    "INVALID_ARGUMENT",
    refused('"d" is no file, and has content'),
  ],
  [
    "a link with content",
    tar({ name: "l", type: "2", link: "x", content: "x" }),
    "INVALID_ARGUMENT",
    refused('"l" is no file, and has content'),
  ],
  [
    "a file called like a directory",
    tar({ name: "d/", content: "x" }),
    "INVALID_ARGUMENT",
    refused('"d/" has the name of a directory, and content'),
  ],
  [
    "a size that is larger than the archive",
    tar({ name: "f", size: 5000 }),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Unexpected end of data)"),
  ],
  [
    "a size that is smaller than the content",
    tar({ name: "f", size: 1, content: "x".repeat(600) }),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid tar header)"),
  ],
  [
    "a negative size",
    tar({ name: "f", size: Buffer.concat([Buffer.alloc(11, 0xff), Buffer.from([0xfe])]) }),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid header)"),
  ],
  [
    "a size beyond all limits",
    tar({ name: "f", size: Buffer.concat([Buffer.from([0x80]), Buffer.alloc(11, 0xff)]) }),
    "INVALID_ARGUMENT",
    refused('"f" has an invalid header'),
  ],
  [
    "a size that is no number",
    tar(pax({ size: "many" }), { name: "f", content: "x" }),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid header)"),
  ],
  [
    "a sparse size by the header",
    tar({ name: "f", size: 8 * 2 ** 30 - 1 }),
    "FILE_TOO_LARGE",
    `"f" is larger than ${LIMITS.maxBytes} bytes`,
  ],
  [
    "a header that would fill memory",
    tar(block({ name: "x", type: "x", size: 2 ** 31, content: "1" })),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Header exceeds max size)"),
  ],
  [
    "headers without an entry",
    tar(...Array(2000).fill(pax({ comment: "x" }))),
    "INVALID_ARGUMENT",
    refused("it has more than 1048576 bytes between two entries"),
  ],
  [
    "a checksum that is wrong",
    Buffer.concat([Buffer.from("x"), tar({ name: "abc" }).subarray(1)]),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid tar header)"),
  ],
  [
    "another format",
    tar({ name: "f", magic: "\0\0\0\0\0\0\0\0" }),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid tar header: unknown format)"),
  ],
  [
    "something after its end",
    Buffer.concat([tar({ name: "f" }), Buffer.alloc(600, 1), Buffer.alloc(1448)]),
    "INVALID_ARGUMENT",
    refused("it cannot be read (Invalid tar header)"),
  ],
  [
    "no end",
    tar({ name: "f", content: "x" }).subarray(0, 1024),
    "INVALID_ARGUMENT",
    refused("it is incomplete"),
  ],
  [
    "half a block at its end",
    tar({ name: "f", content: "x" }).subarray(0, 1300),
    "INVALID_ARGUMENT",
    refused("it is incomplete"),
  ],
  ["nothing at all", Buffer.alloc(0), "INVALID_ARGUMENT", refused("it is empty")],
  [
    "a zip's beginning",
    Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(2000)]),
    "INVALID_ARGUMENT",
    refused("it is compressed with zip"),
  ],
];

describe("an archive with", () => {
  it.each(ATTACKS)("%s is refused, and nothing of it is stored", async (_, archive, code, message) => {
    await expect(load(tar({ name: "fine", content: "before" }))).resolves.toMatchObject({ files: 1 });
    const before = kept.onDisk();
    await expect(load(archive)).rejects.toThrow(failsWith(code, message));
    // However the bytes come in.
    const bytewise = Readable.from(
      (function* () {
        for (let at = 0; at < archive.length; at += 7) yield archive.subarray(at, at + 7);
      })(),
    );
    await expect(load(bytewise)).rejects.toThrow(failsWith(code, message));
    expect(kept.onDisk()).toEqual(before);
    expect(await kept.store().list()).toHaveLength(1);
  });

  it("set-user-id bits loses them", async () => {
    const { id } = await load(tar({ name: "su", mode: 0o6755 }, { name: "d", type: "5", mode: 0o7777 }));
    expect(await entriesOf(id)).toMatchObject([
      { path: "d", mode: 0o777 },
      { path: "su", mode: 0o755 },
    ]);
  });

  it("links that stay inside keeps them", async () => {
    const { id } = await load(
      tar(
        { name: "d/l", type: "2", link: "../x" },
        { name: "l", type: "2", link: "d//./y" },
        { name: "d", type: "5" },
      ),
    );
    expect(await entriesOf(id)).toMatchObject([
      { path: "d", type: "directory" },
      { path: "d/l", target: "../x" },
      { path: "l", target: "d//./y" },
    ]);
  });

  it("more than the limits is refused as soon as that is known", async () => {
    const many = tar(...Array.from({ length: 30 }, (_, index) => ({ name: `f${index}` })));
    await expect(load(many, { maxFiles: 20 })).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    const implied = tar({ name: "a/b/c/d/e/f" });
    await expect(load(implied, { maxFiles: 5 })).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    const roots = tar(...Array.from({ length: 30 }, () => ({ name: "./", type: "5" })));
    await expect(load(roots, { maxFiles: 20 })).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    const large = tar({ name: "a", content: "x".repeat(600) }, { name: "b", content: "x".repeat(600) });
    await expect(load(large, { maxBytes: 1000 })).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    await expect(load(large, { maxBytes: 1200 })).resolves.toMatchObject({ bytes: 1200, storedBytes: 600 });
  });

  it("compression is refused with how to take it off", async () => {
    const zipped = Readable.from([tar({ name: "f" })]).pipe(createGzip());
    await expect(load(zipped)).rejects.toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        message: refused("it is compressed with gzip"),
        hint: "Unpack it first: gunzip. How large it is then cannot be known before.",
      }),
    );
  });

  it("a source that fails or is cancelled is given up, whole and at once", async () => {
    const half = tar({ name: "f", content: "x".repeat(100_000) }).subarray(0, 50_000);
    const failing = async function* () {
      yield half;
      throw new TypeError("upload broke");
    };
    await expect(load(Readable.from(failing()))).rejects.toThrow(new TypeError("upload broke"));
    const controller = new AbortController();
    const endless = new Readable({ read() {} });
    endless.push(half);
    const loading = load(endless, {}, controller.signal);
    await waitUntil(() => existsSync(kept.directory));
    controller.abort();
    await expect(loading).rejects.toThrow(failsWith("CANCELLED"));
    expect([endless.destroyed, kept.onDisk()]).toEqual([true, { blobs: [], others: [] }]);
    await expect(load(Readable.from(["text"]))).rejects.toThrow(
      failsWith("INVALID_ARGUMENT", refused("expected a stream of bytes, got one of string")),
    );
  });

  it("any bytes in it ends in a snapshot or an error, and the store is whole", {
    timeout: 120_000,
  }, async () => {
    const sound = tar(
      pax({ path: "d/é", mtime: "1.5" }),
      { name: "x", content: "content" },
      { name: "d", type: "5" },
      { name: "l", type: "2", link: "d" },
      block({ name: "././@LongLink", type: "L", content: "long\0", magic: "ustar  \0" }),
      { name: "short", content: "y".repeat(700), magic: "ustar  \0" },
    );
    const damage = fc.array(
      fc.record({ at: fc.nat(sound.length - 1), byte: fc.nat(255), isSealed: fc.boolean() }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(
        damage,
        fc.integer({ min: 1, max: 700 }),
        fc.nat(sound.length),
        async (changes, step, cut) => {
          const archive = Buffer.from(sound);
          for (const { at: place, byte, isSealed } of changes) {
            archive[place] = byte;
            if (isSealed) seal(archive, place - (place % 512));
          }
          const end = cut % 3 === 0 ? cut : archive.length;
          const pieces = (function* () {
            for (let from = 0; from < end; from += step)
              yield archive.subarray(from, Math.min(end, from + step));
          })();
          await load(Readable.from(pieces)).catch((error) => {
            expect(["INVALID_ARGUMENT", "PATH_TRAVERSAL", "FILE_TOO_LARGE"]).toContain(error.code);
          });
        },
      ),
      { numRuns: 400 },
    );
    for (const { id } of await kept.store().list()) {
      for (const { path } of await entriesOf(id)) expect(path).not.toMatch(/^\/|(^|\/)\.\.?(\/|$)|\0/);
    }
    await assertSound(kept);
  });
});
