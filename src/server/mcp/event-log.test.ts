import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { EventLog, type EventLogOptions } from "./event-log.js";
import { EventMemory } from "./event-memory.js";
import { OpenRequests } from "./open-requests.js";

const answer = (id: number, text = ""): JSONRPCMessage => ({ jsonrpc: "2.0", id, result: { text } });
const notice = (method: string): JSONRPCMessage => ({ jsonrpc: "2.0", method });
const progress = (seconds: number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "notifications/progress",
  params: { progressToken: 1, progress: seconds },
});
/** What opens a stream for clients that can come back. */
const PRIMING = {} as JSONRPCMessage;

function createLog(options: Partial<EventLogOptions> = {}) {
  const requests = new OpenRequests();
  const memory = new EventMemory();
  const log = new EventLog({ memory, onAnswer: (id) => requests.settle(id), ...options });
  return { log, requests, memory };
}

it("has the rest of a stream after any event of it, and says whether that is all", async () => {
  const { log, requests } = createLog();
  requests.add([7]);
  const first = await log.storeEvent("a", PRIMING);
  expect(log.after(first)).toEqual({ events: [], isOver: false });
  const second = await log.storeEvent("a", notice("x"));
  await log.storeEvent("b", notice("other stream"));
  const third = await log.storeEvent("a", answer(7));
  const rest = { id: third, message: answer(7) };
  expect(log.after(first)).toEqual({ events: [{ id: second, message: notice("x") }, rest], isOver: true });
  expect(log.after(second)).toEqual({ events: [rest], isOver: true });
  expect(log.after(third)).toEqual({ events: [], isOver: true });
  const sent: unknown[] = [];
  const send = async (id: string, message: JSONRPCMessage) => void sent.push({ id, message });
  expect(await log.replayEventsAfter(second, { send })).toBe("a");
  expect(sent).toEqual([rest]);
});

it("knows no event that it did not give", async () => {
  const { log } = createLog();
  await log.storeEvent("a", notice("x"));
  for (const id of [
    "",
    "a",
    "a_2",
    "b_1",
    "a_-1",
    "a_1_1",
    "a_1e9",
    `${"a".repeat(1000)}_1`,
    "__proto___1",
  ]) {
    expect(log.after(id)).toBeUndefined();
  }
});

it("is over with the last of the answers that belong together", async () => {
  const { log, requests } = createLog();
  requests.add([1, 2]);
  const first = await log.storeEvent("a", answer(1));
  expect(log.after(first)).toEqual({ events: [], isOver: false });
  await log.storeEvent("a", answer(2));
  expect(log.after(first)).toMatchObject({ isOver: true });
});

it("keeps the latest progress only, and no unwanted answer", async () => {
  const { log, requests, memory } = createLog();
  requests.add([1]);
  const first = await log.storeEvent("a", progress(1));
  for (let second = 2; second < 1000; second++) await log.storeEvent("a", progress(second));
  expect(log.after(first)?.events.map(({ message }) => message)).toEqual([progress(999)]);
  log.forgetAnswer(1);
  await log.storeEvent("a", answer(1));
  expect(log.after(first)).toMatchObject({ events: [{ message: progress(999) }], isOver: true });
  log.close();
  expect(memory.bytes).toBe(0);
});

it("lets the oldest go when a client's share is full, and says that something is missing", async () => {
  const { log, requests, memory } = createLog({ maxBytes: 1000, maxEvents: 5 });
  requests.add([1, 2]);
  const first = await log.storeEvent("a", PRIMING);
  await log.storeEvent("a", notice("early"));
  const before = await log.storeEvent("a", notice("x"));
  for (let i = 0; i < 5; i++) await log.storeEvent("a", notice(`later ${i}`));
  expect(log.after(first)).toBeUndefined();
  expect(log.after(before)?.events).toHaveLength(5);
  await log.storeEvent("b", answer(2, "x".repeat(900)));
  expect(memory.bytes).toBeLessThanOrEqual(1000);
  // What is larger than all of it was never there.
  const large = await log.storeEvent("a", answer(1, "x".repeat(2000)));
  expect(log.after(before)).toBeUndefined();
  expect(log.after(large)).toMatchObject({ events: [] });
  // What belongs to no request is not missed.
  const standing = await log.storeEvent("_GET_stream", notice("0"));
  for (let i = 1; i < 10; i++) await log.storeEvent("_GET_stream", notice(String(i)));
  expect(log.after(standing)?.events.map(({ message }) => message)).toEqual(
    [5, 6, 7, 8, 9].map((i) => notice(String(i))),
  );
});

it("shares the memory of all clients, from which the oldest go first", async () => {
  const memory = new EventMemory(1000);
  const [one, two] = [createLog({ memory }).log, createLog({ memory }).log];
  const before = await one.storeEvent("a", PRIMING);
  await one.storeEvent("a", answer(1, "x".repeat(600)));
  expect(one.after(before)?.events).toHaveLength(1);
  await two.storeEvent("a", answer(1, "x".repeat(600)));
  expect(one.after(before)).toBeUndefined();
  expect(memory.bytes).toBeLessThanOrEqual(1000);
  two.close();
  expect(memory.bytes).toBe(0);
});

it("forgets what has ended some minutes ago, and nothing of what goes on", async () => {
  let now = 0;
  const { log, requests, memory } = createLog({ now: () => now });
  requests.add([1]);
  requests.add([2]);
  const [ended, running] = [await log.storeEvent("a", PRIMING), await log.storeEvent("b", notice("x"))];
  await log.storeEvent("a", answer(1));
  now = 4 * 60_000;
  log.prune();
  expect(log.after(ended)?.events).toHaveLength(1);
  now = 6 * 60_000;
  log.prune();
  expect(log.after(ended)).toBeUndefined();
  await log.storeEvent("b", answer(2));
  expect(log.after(running)).toMatchObject({ isOver: true, events: [{ message: answer(2) }] });
  now = 20 * 60_000;
  log.prune();
  expect(memory.bytes).toBe(0);
});
