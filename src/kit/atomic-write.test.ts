import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../test/setup/clean-up.js";
import { writeFileAtomic, writeNewFile } from "./atomic-write.js";

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

it("replaces a file, with the mode it was given, and leaves nothing else", () => {
  const path = join(directory, "file");
  writeFileAtomic(path, "one");
  writeFileAtomic(path, "two", { mode: 0o644 });
  expect(readFileSync(path, "utf8")).toBe("two");
  expect(statSync(path).mode & 0o777).toBe(0o644);
  expect(readdirSync(directory)).toEqual(["file"]);
});

it("leaves what was there, and nothing else, when it fails", () => {
  mkdirSync(join(directory, "taken"));
  expect(() => writeFileAtomic(join(directory, "taken"), "text")).toThrow("EISDIR");
  expect(readdirSync(directory)).toEqual(["taken"]);
});

it("never writes a new file over another one", () => {
  const path = join(directory, "file");
  writeNewFile(path, "one");
  expect(() => writeNewFile(path, "two")).toThrow("EEXIST");
  expect(readFileSync(path, "utf8")).toBe("one");
});
