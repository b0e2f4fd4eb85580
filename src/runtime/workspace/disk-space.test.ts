import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { diskSpace, isDiskLow } from "./disk-space.js";

const GIB = 1024 ** 3;
const space = (freeGib: number, totalGib: number, inodes?: [number, number]) => ({
  freeBytes: freeGib * GIB,
  totalBytes: totalGib * GIB,
  freeInodes: inodes?.[0],
  totalInodes: inodes?.[1],
});

it("is that of the file system, also of what is not there yet", async () => {
  const directory = temporaryDirectory();
  const { freeBytes, totalBytes } = await diskSpace(directory);
  expect([freeBytes > 0, freeBytes <= totalBytes]).toEqual([true, true]);
  expect((await diskSpace(join(directory, "a/b/c"))).totalBytes).toBe(totalBytes);
});

it.each([
  ["a twentieth of a usual disk is left", space(4.9, 100), true],
  ["more than that is left", space(5.1, 100), false],
  ["20 GiB of a huge disk are left", space(21, 4000), false],
  ["less than a gibibyte is left", space(0.9, 10), true],
  ["half of a small disk is left", space(0.25, 0.5), false],
  ["a tenth of a small disk is left", space(0.05, 0.5), true],
  ["no inodes are left", space(50, 100, [10, 1000]), true],
  ["inodes are left", space(50, 100, [500, 1000]), false],
])("is low or not when %s", (_, left, isLow) => {
  expect(isDiskLow(left)).toBe(isLow);
});
