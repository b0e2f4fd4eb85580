import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { u32 } from "../../../wire/index.js";
import { createReportReader, type Ending } from "./launcher-reports.js";

type Report = ["started", number, number] | ["ended", number, Ending];

function readAll(chunks: readonly Buffer[]): Report[] {
  const reports: Report[] = [];
  const read = createReportReader({
    started: (slot, pid) => reports.push(["started", slot, pid]),
    ended: (slot, ending) => reports.push(["ended", slot, ending]),
  });
  for (const chunk of chunks) read(chunk);
  return reports;
}

function encode([kind, slot, what]: Report): Buffer {
  if (kind === "started") return u32Buffer(1, slot, what, 0);
  const text = Buffer.from(what.complaints, "latin1");
  return Buffer.concat([u32Buffer(2, slot, what.status! >>> 0, text.length), text]);
}

function u32Buffer(...values: number[]): Buffer {
  return Buffer.from(u32(...values));
}

const report: fc.Arbitrary<Report> = fc.oneof(
  fc.tuple(fc.constant("started" as const), fc.nat(63), fc.nat()),
  fc.tuple(
    fc.constant("ended" as const),
    fc.nat(63),
    fc.record({
      status: fc.integer({ min: -64, max: 255 }),
      complaints: fc.string({ maxLength: 200 }).map((text) => text.replaceAll(/[^\x21-\x7e]/g, "x")),
    }),
  ),
);

describe("a launcher's reports", () => {
  it("are the same however the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 8 }), fc.integer({ min: 1, max: 40 }), (reports, size) => {
        const bytes = Buffer.concat(reports.map(encode));
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        expect(readAll(chunks)).toEqual(reports);
      }),
    );
  });

  it.each([
    ["an unknown kind", u32Buffer(3, 0, 0, 0)],
    ["more text than a launcher keeps", u32Buffer(2, 0, 0, 4097)],
  ])("are refused when there is %s", (_, bytes) => {
    expect(() => readAll([bytes])).toThrow("The launcher reported");
  });
});
