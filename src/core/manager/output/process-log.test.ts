import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputBudget } from "./output-budget.js";
import { type LogPiece, ProcessLog } from "./process-log.js";

const MIB = 1024 * 1024;
const never = new AbortController().signal;
const createLog = (budget = new OutputBudget(64 * MIB)) => {
  const log = new ProcessLog(budget);
  log.begin();
  return log;
};

/** Everything that is kept, page by page. */
function readAll(log: ProcessLog, limit: number, from = 0): { pieces: LogPiece[]; dropped: number } {
  const all: LogPiece[] = [];
  let lost = 0;
  for (let at = from; ; ) {
    const { pieces, next, dropped, ended } = log.read(at, limit);
    all.push(...pieces);
    lost += dropped;
    if (ended || (next === at && pieces.length === 0)) return { pieces: all, dropped: lost };
    at = next;
  }
}

/** A lone half of a surrogate is no text that a program could print. */
const wellFormed = (text: string) => Buffer.from(text).toString();

const textOf = (pieces: readonly LogPiece[], stream: "stdout" | "stderr") =>
  pieces
    .filter((piece) => piece.stream === stream)
    .map(({ text }) => text)
    .join("");

describe("the log of a process", () => {
  it("has both outputs in their order, and whole characters, however they came and are read", () => {
    const text = fc.string({ unit: "binary", maxLength: 30 });
    const writes = fc.array(fc.record({ stream: fc.constantFrom("stdout", "stderr"), text }), {
      maxLength: 20,
    });
    const property = fc.property(
      writes,
      fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      fc.integer({ min: 4, max: 40 }),
      (given, sizes, limit) => {
        const log = createLog();
        for (const { stream, text: written } of given) {
          const bytes = Buffer.from(wellFormed(written));
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value;
            log.add(stream, bytes.subarray(at, at + size));
            at += size;
          }
        }
        log.end();
        const { pieces, dropped } = readAll(log, limit);
        expect(dropped).toBe(0);
        const expected = given.map((each) => ({ ...each, text: wellFormed(each.text) }));
        for (const stream of ["stdout", "stderr"] as const)
          expect(textOf(pieces, stream)).toBe(textOf(expected as LogPiece[], stream));
        expect(pieces.map((piece) => piece.text).join("")).toBe(expected.map((each) => each.text).join(""));
        expect(pieces.at(-1)?.end ?? 0).toBe(log.bytes);
      },
    );
    fc.assert(property);
  });

  it("keeps the last mebibyte, and says how much is gone", () => {
    const budget = new OutputBudget(64 * MIB);
    const log = createLog(budget);
    for (let line = 0; line < 300_000; line++) log.add("stdout", Buffer.from(`line ${line} →\n`));
    const { pieces, dropped } = readAll(log, 64 * 1024);
    const kept = textOf(pieces, "stdout");
    expect(dropped + Buffer.byteLength(kept)).toBe(log.bytes);
    expect(Buffer.byteLength(kept)).toBeGreaterThan(MIB - 20);
    expect(kept.endsWith("line 299999 →\n")).toBe(true);
    expect(kept).not.toContain("\ufffd");
    expect(budget.used).toBe(MIB);
  });

  it("does not grow in its index when each character is another output's", () => {
    const budget = new OutputBudget(64 * MIB);
    const log = createLog(budget);
    for (let count = 0; count < 400_000; count++)
      log.add(count % 2 === 0 ? "stdout" : "stderr", Buffer.from("x"));
    const kept = readAll(log, MIB).pieces.length;
    expect(kept).toBe(MIB / 16);
    log.end();
    expect(readAll(log, MIB).pieces.length).toBe(kept);
    expect(budget.used).toBeLessThanOrEqual(MIB);
  });

  it("has what is no UTF-8 as replacement characters, and never stands still over it", () => {
    const log = createLog();
    log.add("stdout", Buffer.from([0xe2, 0x82]));
    expect(log.read(0, 1024).pieces).toEqual([]);
    log.add("stdout", Buffer.concat([Buffer.from("a"), Buffer.alloc(20, 0x80), Buffer.from([0xff, 0xf0])]));
    log.end();
    expect(textOf(readAll(log, 4).pieces, "stdout")).toBe(`\ufffda${"\ufffd".repeat(22)}`);
  });

  it("takes no cursor that it did not give, and keeps nothing once it is forgotten", () => {
    const budget = new OutputBudget(64 * MIB);
    const log = createLog(budget);
    log.add("stdout", Buffer.from("abc"));
    expect(() => log.read(4, 10)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    log.forget();
    log.end();
    expect(budget.used).toBe(0);
  });

  it("wakes waiting readers when there is more, when it ends, and after their time", async () => {
    const log = createLog();
    log.add("stdout", Buffer.from("a"));
    await log.waitBeyond(0, never);
    await log.waitBeyond(1, never, 1);
    await log.waitBeyond(1, AbortSignal.abort());
    const more = log.waitBeyond(1, never);
    log.add("stderr", Buffer.from("b"));
    await more;
    const end = log.waitBeyond(2, never);
    log.end();
    await end;
    await log.waitBeyond(2, never);
  });
});
