import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stderr } from "./output.js";
import { sizeText, withProgress } from "./progress.js";

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [99_949, "99.9 kB"],
  [99_960, "100 kB"],
  [999_600, "1.0 MB"],
  [4 * 2 ** 30, "4.3 GB"],
  [5e16, "50000 TB"],
])("%d bytes are %s", (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});

describe("progress", () => {
  let printed: string;

  beforeEach(() => {
    printed = "";
    vi.useFakeTimers({ toFake: ["performance"] });
    vi.spyOn(stderr, "write").mockImplementation(async (data) => {
      printed += String(data);
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  /** Three pieces of work, half a second each. */
  const work = (isTerminal: boolean) => {
    vi.spyOn(stderr, "isTerminal", "get").mockReturnValue(isTerminal);
    return withProgress("working", async (show) => {
      for (let piece = 1; piece <= 3; piece++) {
        vi.advanceTimersByTime(500);
        show({ files: piece, bytes: piece * 1000 });
        show({ bytes: 0 });
      }
      return "done";
    });
  };

  it("is told on a terminal from the first second on, now and then, and taken away at the end", async () => {
    expect(await work(true)).toBe("done");
    expect(printed).toBe(
      "\r\x1b[Kskerry: working: 2 files, 2.0 kB\r\x1b[Kskerry: working: 3 files, 3.0 kB\r\x1b[K",
    );
  });

  it("is not shown without a terminal", async () => {
    expect(await work(false)).toBe("done");
    expect(printed).toBe("");
  });

  it("is taken away when the work fails", async () => {
    vi.spyOn(stderr, "isTerminal", "get").mockReturnValue(true);
    const failing = withProgress("working", async (show) => {
      vi.advanceTimersByTime(2000);
      show({ bytes: 5 });
      throw new TypeError("broke");
    });
    await expect(failing).rejects.toThrow(new TypeError("broke"));
    expect(printed).toBe("\r\x1b[Kskerry: working: 5 B\r\x1b[K");
  });
});
