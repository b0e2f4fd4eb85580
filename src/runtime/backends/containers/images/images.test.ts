import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { type DaemonEvent, daemonEvents } from "../daemon/daemon-events.js";
import { baseImageName, imageChanges } from "./dockerfile.js";
import { parseTag } from "./images.js";

describe("parseTag", () => {
  it.each([
    ["skerry-sandbox", "skerry-sandbox:latest"],
    ["skerry-sandbox:0.1", "skerry-sandbox:0.1"],
    ["registry.example.com:5000/team/box:v1", "registry.example.com:5000/team/box:v1"],
    ["registry.example.com:5000/box", "registry.example.com:5000/box:latest"],
  ])("reads %s", (text, tag) => {
    expect(parseTag(text)).toBe(tag);
  });

  it.each(["", "Upper", "a:", "a:b:c", "a b", "-a", "a@sha256:00", "a:-b", "a\n"])("refuses %j", (text) => {
    expect(() => parseTag(text)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("the Dockerfile", () => {
  it("names its base", () => {
    expect(baseImageName()).toBe("node:20-bookworm-slim");
  });

  it("describes an imported image as it does a built one", () => {
    expect(imageChanges({ "dev.skerry.image": "1.2.3" })).toEqual([
      "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "ENV LANG=C.UTF-8",
      "ENV HOME=/workspace",
      "LABEL dev.skerry.languages=python,javascript,typescript,bash",
      "USER 1000:1000",
      "WORKDIR /workspace",
      'ENTRYPOINT ["/usr/local/bin/skerry-entrypoint"]',
      'LABEL dev.skerry.image="1.2.3"',
    ]);
  });
});

describe("daemonEvents", () => {
  const signal = new AbortController().signal;
  const read = (...chunks: string[]) => collect(daemonEvents(Readable.from(chunks), signal));
  async function collect(events: AsyncIterable<DaemonEvent>): Promise<DaemonEvent[]> {
    const all: DaemonEvent[] = [];
    for await (const event of events) all.push(event);
    return all;
  }

  it("reads events whole, however they are cut, and makes them harmless", async () => {
    expect(await read('{"status":"a","id":"1"}\r\n{"str', 'eam":"b\\u001b[2J\\nc"}')).toEqual([
      { status: "a", id: "1" },
      { stream: "b\\x1b[2J\nc" },
    ]);
  });

  it.each([
    ["DISK_FULL", "write /layer.tar: no space left on device"],
    ["EXECUTION_FAILED", "The command '/bin/sh -c x' returned a non-zero code: 1"],
  ])("throws %s for a failure among them", async (code, error) => {
    await expect(read(JSON.stringify({ error }))).rejects.toMatchObject({ code });
  });

  it("ends when it is cancelled", async () => {
    const controller = new AbortController();
    const endless = new Readable({ read: () => undefined });
    const reading = collect(daemonEvents(endless, controller.signal));
    controller.abort();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
  });
});
