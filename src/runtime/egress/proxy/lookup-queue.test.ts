import { describe, expect, it } from "vitest";
import { LookupQueue, systemLookups } from "./lookup-queue.js";

/** A resolver that answers when it is told to. */
function manual() {
  const asked = new Map<string, (answer: string[] | Error) => void>();
  const order: string[] = [];
  const lookup = (name: string) =>
    new Promise<string[]>((resolve, reject) => {
      order.push(name);
      asked.set(name, (answer) => {
        asked.delete(name);
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      });
    });
  return { lookup, asked, order };
}

const settled = () => new Promise((done) => setImmediate(done));

describe("LookupQueue", () => {
  it("lets no other sandbox wait for one sandbox's many slow names", async () => {
    const { lookup, asked } = manual();
    const queue = new LookupQueue(lookup, { atOnce: 2, perLane: 1 });
    const [greedy, modest] = [queue.lane(), queue.lane()];
    for (let at = 0; at < 40; at++) void greedy(`slow${at}.example`);
    const answer = modest("good.example");
    await settled();
    expect([...asked.keys()]).toEqual(["slow0.example", "good.example"]);
    asked.get("good.example")!(["192.0.2.1"]);
    expect(await answer).toEqual(["192.0.2.1"]);
    await settled();
    expect([...asked.keys()]).toEqual(["slow0.example"]);
  });

  it("takes turns between those that wait", async () => {
    const { lookup, asked, order } = manual();
    const queue = new LookupQueue(lookup, { atOnce: 1, perLane: 1 });
    const lanes = ["a", "b", "c"].map((name) => ({ name, resolve: queue.lane() }));
    for (const { name, resolve } of lanes) for (let at = 0; at < 3; at++) void resolve(`${name}${at}`);
    for (let at = 0; at < 9; at++) {
      await settled();
      for (const answer of asked.values()) answer([]);
    }
    expect(order).toEqual(["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]);
  });

  it("asks once for a name that is wanted several times at once, and again afterwards", async () => {
    const { lookup, asked, order } = manual();
    const resolve = new LookupQueue(lookup, { atOnce: 2, perLane: 1 }).lane();
    const both = Promise.all([resolve("a"), resolve("a")]);
    await settled();
    asked.get("a")!(["192.0.2.1"]);
    expect(await both).toEqual([["192.0.2.1"], ["192.0.2.1"]]);
    const again = resolve("a");
    await settled();
    asked.get("a")!(Object.assign(new Error("none"), { code: "ENOTFOUND" }));
    await expect(again).rejects.toMatchObject({ code: "ENOTFOUND" });
    expect(order).toEqual(["a", "a"]);
  });

  it("forgets a name whose callers have left, unless it is being asked for", async () => {
    const { lookup, asked, order } = manual();
    const resolve = new LookupQueue(lookup, { atOnce: 1, perLane: 1 }).lane();
    const caller = new AbortController();
    const given = ["a", "b"].map((name) => resolve(name, caller.signal).catch((error: Error) => error.name));
    const kept = resolve("c");
    await settled();
    caller.abort();
    expect(await Promise.all(given)).toEqual(["AbortError", "AbortError"]);
    await settled();
    expect(order).toEqual(["a"]);
    asked.get("a")!([]);
    await settled();
    expect(order).toEqual(["a", "c"]);
    asked.get("c")!(["192.0.2.1"]);
    expect(await kept).toEqual(["192.0.2.1"]);
  });

  it("asks the system, where each sandbox has its own place", async () => {
    expect(await systemLookups.lane()("localhost")).toContain("127.0.0.1");
  });
});
