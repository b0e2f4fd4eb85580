import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EgressEvent } from "../events.js";
import { DenialLines, EventMerger } from "./event-merger.js";

function event(more: Partial<EgressEvent>): EgressEvent {
  return {
    at: new Date(0),
    via: "http",
    host: "a.example",
    port: 80,
    verdict: "denied",
    rule: "r",
    why: "no",
    bytesSent: 1,
    bytesReceived: 2,
    durationMs: 3,
    ...more,
  };
}

describe("EventMerger", () => {
  let told: EgressEvent[];
  let merger: EventMerger;

  beforeEach(() => {
    vi.useFakeTimers();
    told = [];
    merger = new EventMerger((each) => told.push(each));
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("tells the first of several like it at once, and the others together", () => {
    for (let at = 0; at < 5; at++) merger.add(event({}));
    expect(told).toEqual([event({})]);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([event({}), event({ count: 4, bytesSent: 4, bytesReceived: 8 })]);
    merger.add(event({}));
    expect(told).toHaveLength(3);
  });

  it("tells each of what is allowed, and of what differs", () => {
    merger.add(event({ verdict: "allowed" }));
    merger.add(event({ verdict: "allowed" }));
    merger.add(event({ host: "b.example" }));
    merger.add(event({ why: "never" }));
    expect(told).toHaveLength(4);
  });

  it("hides nothing that was tried with a secret, nor what was allowed, behind a flood", () => {
    for (let at = 0; at < 500; at++) merger.add(event({ host: `${at}.evil.example` }));
    merger.add(event({ host: "x.example", secrets: ["TOKEN"] }));
    merger.add(event({ host: "x.example", secrets: ["TOKEN"] }));
    merger.add(event({ host: "good.example", verdict: "allowed" }));
    merger.add(event({ host: "last.evil.example" }));
    vi.advanceTimersByTime(1000);
    const named = told.filter(({ secrets }) => secrets?.includes("TOKEN"));
    expect(named.map(({ host, count = 1 }) => [host, count])).toEqual([
      ["x.example", 1],
      ["x.example", 1],
    ]);
    expect(told.some(({ host, verdict }) => host === "good.example" && verdict === "allowed")).toBe(true);
    expect(told.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(504);
  });

  it("tells no more than so many in a second, and loses none", () => {
    for (let at = 0; at < 10_000; at++) {
      merger.add(event({ host: `${at}.example`, verdict: at % 2 === 0 ? "allowed" : "denied" }));
    }
    merger.flush();
    expect(told.length).toBeLessThanOrEqual(223);
    expect(told.reduce((sum, { count }) => sum + (count ?? 1), 0)).toBe(10_000);
    expect(told.reduce((sum, { bytesSent }) => sum + bytesSent, 0)).toBe(10_000);
    expect(told.at(-1)).toMatchObject({ host: "(several)", port: 0 });
  });

  it("keeps what is open apart from what is over", () => {
    for (let at = 0; at < 150; at++) merger.add(event({ verdict: "allowed", open: true }));
    for (let at = 0; at < 150; at++) merger.add(event({ verdict: "allowed" }));
    merger.flush();
    const counted = (open?: boolean) =>
      told.filter((each) => each.open === open).reduce((sum, { count }) => sum + (count ?? 1), 0);
    expect([counted(true), counted(undefined)]).toEqual([150, 150]);
  });

  it("tells what waits when it is closed, and then everything at once", () => {
    merger.add(event({}));
    merger.add(event({}));
    merger.close();
    merger.add(event({}));
    expect(told.map(({ count }) => count)).toEqual([undefined, 1, undefined]);
  });
});

describe("DenialLines", () => {
  it("gives each line once, and says how many there are besides", () => {
    const lines = new DenialLines();
    for (let round = 0; round < 2; round++) for (let at = 0; at < 25; at++) lines.add(`line ${at}`);
    const taken = lines.take();
    expect(taken.slice(19)).toEqual(["line 19", "and 5 more"]);
    expect(lines.take()).toEqual([]);
    for (let at = 0; at < 5000; at++) lines.add(`line ${at}`);
    expect(lines.take().at(-1)).toBe("and at least 980 more");
  });
});
