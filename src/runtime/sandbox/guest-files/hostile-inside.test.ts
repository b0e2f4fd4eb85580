import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { type StartedGuest, startGuest } from "../../../../test/setup/start-guest.js";
import { encodeFrame, FromGuest, u32 } from "../../wire/frames.js";
import { GuestConnection } from "../../wire/index.js";
import { ChangeLog } from "../files/change-log.js";
import { RunnerWorkspace } from "./runner-workspace.js";
import { collect, receiveFile, sendFile } from "./transfer.js";

const TIMEOUT_MS = 250;

let base: string;
let guest: StartedGuest | undefined;

beforeEach(() => {
  base = temporaryDirectory();
  mkdirSync(join(base, "workspace"));
});

afterEach(async () => {
  await guest?.stop();
  guest = undefined;
});

/** A workspace whose programs inside are hostile. */
async function open(programs: Readonly<Record<string, string>>, timeoutMs = 10_000) {
  guest = await startGuest(base, programs);
  return new RunnerWorkspace(guest, { timeoutMs });
}

const ANSWERS_PROBE = 'case "$*" in "/ -prune"*) exit 0 ;; esac';
const fakeFind = (body: string) => `#!/bin/sh\n${ANSWERS_PROBE}\n${body}\n`;

describe("a sandbox whose programs were replaced", () => {
  it.each([
    ["that is no listing", "echo hello; printf '\\0'"],
    ["with a path outside", "printf 'f 644 1 1 1 1\\n./../../etc/passwd\\0'"],
    ["with an absolute path", "printf 'f 644 1 1 1 1\\n/etc/passwd\\0'"],
    ["without any end of a record", "yes"],
  ])("cannot pass off an answer %s", async (_, body) => {
    const workspace = await open({ find: fakeFind(body) });
    await expect(workspace.list()).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(workspace.stat("x")).rejects.toThrow(failsWith("FILE_NOT_FOUND"));
    writeFileSync(join(base, "workspace/x"), "");
    await expect(workspace.stat("x")).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(workspace.snapshot()).rejects.toThrow(failsWith("FILE_FAILED"));
  });

  it("cannot make a listing or a snapshot endless", async () => {
    const endless = fakeFind("while printf 'f 644 1 1 1 1\\n./a\\0'; do :; done");
    const workspace = await open({ find: endless });
    const { entries, truncated } = await workspace.scan(".", { limit: 500 });
    expect([entries.length, truncated]).toEqual([500, true]);
    expect((await workspace.snapshot()).truncated).toBe(true);
  });

  it.each([
    ["find", { find: fakeFind("trap '' TERM; sleep 60 & wait; sleep 60") }],
    ["sh", { sh: "#!/bin/bash\ntrap '' TERM\nsleep 60 & wait\nsleep 60\n" }],
  ])("cannot keep the host waiting with %s", async (_, programs) => {
    const workspace = await open(programs, TIMEOUT_MS);
    writeFileSync(join(base, "workspace/x"), "");
    await expect(workspace.list()).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(workspace.readFile("x")).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(workspace.snapshot()).rejects.toThrow(failsWith("FILE_FAILED"));
  });

  it("cannot keep the host waiting with a command that makes, removes or claims", async () => {
    const workspace = await open({ mkdir: "#!/bin/sh\nsleep 60\n", rm: "#!/bin/sh\nsleep 60\n" }, TIMEOUT_MS);
    await expect(workspace.mkdir("d")).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(workspace.writeNew("d/f", "")).rejects.toThrow(failsWith("FILE_FAILED"));
    writeFileSync(join(base, "workspace/x"), "");
    await expect(workspace.remove("x")).rejects.toThrow(failsWith("FILE_FAILED"));
  });

  it("can keep its changes from being told, but not a program's result", async () => {
    const changes = new ChangeLog(await open({ find: "#!/bin/sh\nexit 3\n" }));
    const before = changes.begin();
    expect(await before.snapshot).toBe(undefined);
    expect(await changes.end(before)).toEqual({ changes: [], truncated: true });
  });

  it("is believed about the end of a line only, not about names in a message", async () => {
    const mkdir =
      "#!/bin/sh\necho \"mkdir: cannot create directory './No space left on device': Permission denied\" >&2\nexit 1\n";
    const workspace = await open({ mkdir });
    await expect(workspace.mkdir("No space left on device")).rejects.toThrow(failsWith("FILE_DENIED"));
  });

  it("gets a clear error when it has no shell or no find", async () => {
    const bin = join(base, "only");
    mkdirSync(bin);
    guest = await startGuest(base, {});
    const bare = new RunnerWorkspace({ ...guest, baseEnv: { PATH: bin } });
    await expect(bare.list()).rejects.toThrow(failsWith("UNSUPPORTED"));
    await expect(bare.mkdir("d")).rejects.toThrow(failsWith("UNSUPPORTED"));
    writeFileSync(join(bin, "sh"), '#!/bin/sh\nexec /bin/sh "$@"\n', { mode: 0o755 });
    await expect(bare.list()).rejects.toThrow(failsWith("UNSUPPORTED"));
  });
});

describe("a guest that does not answer", () => {
  /** A guest of the test's own that only says hello. */
  function silent() {
    const fromGuest = new PassThrough();
    const runner = new GuestConnection({ fromGuest, toGuest: new PassThrough({ highWaterMark: 4_000_000 }) });
    fromGuest.write(encodeFrame(FromGuest.hello, 0, Buffer.concat([Buffer.from("SKRY"), u32(1, 1)])));
    return { runner, fromGuest };
  }

  it("does not keep a reader waiting, and a reader that comes late finds the reason", async () => {
    const { runner } = silent();
    const options = { shown: "x", maxBytes: 100, idleMs: 20 };
    await expect(collect(receiveFile(runner, "/w/x", options))).rejects.toThrow(failsWith("FILE_FAILED"));
    const late = receiveFile(runner, "/w/x", options);
    await new Promise((resolve) => late.once("close", resolve));
    await expect(collect(late)).rejects.toThrow(failsWith("FILE_FAILED"));
    runner.close();
  });

  it("does not keep a reader waiting by sending a byte at a time", async () => {
    const { runner, fromGuest } = silent();
    const dripping = setInterval(() => {
      fromGuest.write(encodeFrame(FromGuest.stdout, 2, Buffer.from("x")));
    }, 5);
    try {
      const stream = receiveFile(runner, "/w/x", { shown: "x", maxBytes: 1e9, idleMs: 60_000, totalMs: 100 });
      await expect(collect(stream)).rejects.toThrow(failsWith("FILE_FAILED"));
    } finally {
      clearInterval(dripping);
      runner.close();
    }
  });

  it("does not keep a writer waiting, but lets its source take its time", async () => {
    const { runner } = silent();
    const options = { shown: "x", mode: 0o644, idleMs: 20 };
    const large = Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(65_536)));
    await expect(sendFile(runner, "/w/x", large, options)).rejects.toThrow(failsWith("FILE_FAILED"));
    await expect(sendFile(runner, "/w/x", [], options)).rejects.toThrow(failsWith("FILE_FAILED"));
    const slow = async function* () {
      yield "a";
      await new Promise((resolve) => setTimeout(resolve, 100));
      throw new TypeError("source broke");
    };
    await expect(sendFile(runner, "/w/x", slow(), options)).rejects.toThrow(new TypeError("source broke"));
    runner.close();
  });
});
