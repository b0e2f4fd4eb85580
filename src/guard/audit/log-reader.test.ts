import { appendFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AuditLogger } from "./audit-logger.js";
import { LogReader } from "./log-reader.js";

let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

async function write(...names: string[]): Promise<void> {
  // Small files, so that there are several.
  await using audit = new AuditLogger({ directory, maxFileBytes: 2000 });
  for (const sessionId of names) await audit.log({ eventType: "test", sessionId });
}

async function take(reader: LogReader): Promise<(string | null)[]> {
  const taken: (string | null)[] = [];
  for await (const { session_id } of reader.read()) taken.push(session_id);
  return taken;
}

it("reads a log from a record on, over all its files, and then what has come since", async () => {
  await write("1", "2", "3", "4", "5");
  expect(readdirSync(directory).filter((name) => name.endsWith(".jsonl")).length).toBeGreaterThan(2);
  const [all, some, none] = [0, 3, 5].map((after) => new LogReader(directory, after)) as [
    LogReader,
    LogReader,
    LogReader,
  ];
  expect([await take(all), await take(some), await take(none)]).toEqual([
    ["1", "2", "3", "4", "5"],
    ["4", "5"],
    [],
  ]);
  await write("6", "7");
  for (const reader of [all, some, none]) expect(await take(reader)).toEqual(["6", "7"]);
  expect(await take(all)).toEqual([]);
});

it("reads a line when it is whole, and again what its caller has not taken", async () => {
  await write("1", "2");
  const reader = new LogReader(directory, 0);
  for await (const { session_id } of reader.read()) {
    expect(session_id).toBe("1");
    break;
  }
  expect(await take(reader)).toEqual(["1", "2"]);
  const last = readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .at(-1)!;
  appendFileSync(join(directory, last), '{"half":');
  expect(await take(reader)).toEqual([]);
  await write("3");
  // The log's own record of the half comes before it.
  expect(await take(reader)).toEqual([null, "3"]);
});
