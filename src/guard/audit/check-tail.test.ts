import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AuditLogger } from "./audit-logger.js";
import { checkAuditTail } from "./check-tail.js";

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

async function write(count: number): Promise<AuditLogger> {
  const logger = new AuditLogger({ directory, maxFileBytes: 8000 });
  for (let index = 0; index < count; index++) await logger.log({ eventType: "test", sessionId: `s${index}` });
  return logger;
}

const files = () =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .sort();
/** Replaces a text in the last file. */
function change(from: string | RegExp, to: string): void {
  const path = join(directory, files().at(-1)!);
  writeFileSync(path, readFileSync(path, "latin1").replace(from, to));
}

describe("the end of a log", () => {
  it("is whole over several files, with its last record and its size", async () => {
    await using logger = await write(30);
    const last = await logger.log({ eventType: "test" });
    const { bytes, ...tail } = await checkAuditTail(directory);
    expect(tail).toEqual({
      checked: 31,
      last: { seq: 31, timestamp: last.timestamp },
      problem: undefined,
      files: files().length,
    });
    expect([files().length > 2, bytes > 20_000]).toEqual([true, true]);
    expect((await checkAuditTail(directory, { records: 5 })).checked).toBe(5);
  });

  it("is whole while others write to it", async () => {
    await using logger = await write(5);
    let isOver = false;
    const writing = (async () => {
      for (let index = 0; index < 200; index++) await logger.log({ eventType: "test" });
      isOver = true;
    })();
    const problems = new Set<string | undefined>();
    while (!isOver) problems.add((await checkAuditTail(directory)).problem);
    await writing;
    expect([...problems]).toEqual([undefined]);
  });

  it.each([
    ["a record was changed", () => change('"session_id":"s28"', '"session_id":"s92"'), /was changed/],
    ["a record was taken out", () => change(/.*"session_id":"s28".*\n/, ""), /does not follow/],
    ["the end was cut off", () => change(/.*"session_id":"s29".*\n/, ""), /Records 30 to 30 are missing/],
    [
      "something else stands there",
      () => appendFileSync(join(directory, files().at(-1)!), "{}\n"),
      /ends with something that is not a record/,
    ],
    ["its anchor is gone", () => rmSync(join(directory, "head")), /The anchor .* is missing/],
  ])("is not whole when %s", async (_, spoil, problem) => {
    await (await write(30)).close();
    spoil();
    expect((await checkAuditTail(directory)).problem).toMatch(problem);
  });

  it("is not whole when a logger has found a gap, and went on", async () => {
    await (await write(5)).close();
    change(/.*"session_id":"s4".*\n/, "");
    await using _ = await write(1);
    expect((await checkAuditTail(directory)).problem).toMatch(/^Record 5 was removed/);
  });

  it("is nothing where there is no record yet, and no log is told", async () => {
    await using logger = new AuditLogger({ directory });
    await logger.open();
    expect(await checkAuditTail(directory)).toEqual({
      checked: 0,
      last: undefined,
      problem: undefined,
      files: 0,
      bytes: 0,
    });
    await expect(checkAuditTail(join(directory, "none"))).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });
});
