import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { ifMissing, unlessMissing } from "./if-missing.js";

it("gives the fallback where there is no such file, and throws any other failure on", async () => {
  expect(unlessMissing("none", () => readFileSync("/nowhere/at-all"))).toBe("none");
  expect(unlessMissing("none", () => "there")).toBe("there");
  expect(() => unlessMissing("none", () => readFileSync("/"))).toThrow("EISDIR");
  expect(await readFile("/nowhere/at-all").catch(ifMissing("none"))).toBe("none");
  await expect(readFile("/").catch(ifMissing("none"))).rejects.toThrow("EISDIR");
});
