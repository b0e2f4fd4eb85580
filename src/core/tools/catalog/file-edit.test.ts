import { beforeAll, beforeEach, expect } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { SandboxManager } from "../../manager/index.js";
import { createTools, type ToolSet } from "../create-tools.js";
import { describeMisses, findAll } from "../files/find-text.js";

const { describe, it } = requires("linux", "bubblewrap");

let manager: SandboxManager;
let tools: ToolSet;
let sandbox: RunningSandbox;

beforeAll(() => {
  manager = openManager({ backend: "bubblewrap" });
});
beforeEach(async () => {
  await manager.deleteSession("agent");
  tools = createTools(manager, { sessionId: "agent" });
  sandbox = await manager.startSandbox("agent");
});

const edit = (path: string, oldText: string, newText: string, more = {}) =>
  tools.call("file_edit", { path, oldText, newText, ...more });

/** The most processor time that went by while nothing else could run. */
async function longestBlockMs(action: () => Promise<unknown>): Promise<number> {
  const usedMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  let [longest, last] = [0, usedMs()];
  const look = () => {
    const now = usedMs();
    [longest, last] = [Math.max(longest, now - last), now];
  };
  const timer = setInterval(look, 5);
  await action();
  look();
  clearInterval(timer);
  return longest;
}

describe("edits of one file at the same time", () => {
  it("all take place, one after the other", async () => {
    const ids = Array.from({ length: 10 }, (_, id) => id);
    await sandbox.files.write("p.txt", ids.map((id) => `line${id}-old\n`).join(""));
    const replies = await Promise.all(ids.map((id) => edit("p.txt", `line${id}-old`, `line${id}-new`)));
    expect(replies.map(({ status }) => status)).toEqual(ids.map(() => "success"));
    expect(await sandbox.files.readText("p.txt")).toBe(ids.map((id) => `line${id}-new\n`).join(""));
  });

  it("are not disturbed by one that writes or removes it, and do not undo that", async () => {
    // Long enough for the others to come while it is looked through.
    const long = `one${" ".repeat(8 << 20)}`;
    await sandbox.files.write("w.txt", long);
    await sandbox.files.write("d.txt", long);
    const [edited, , editedToo] = await Promise.all([
      edit("w.txt", "one", "two"),
      tools.call("file_write", { path: "w.txt", content: "three" }),
      edit("d.txt", "one", "two"),
      tools.call("file_delete", { path: "d.txt" }),
    ]);
    expect([edited.status, editedToo.status]).toEqual(["success", "success"]);
    expect(await sandbox.files.readText("w.txt")).toBe("three");
    expect(await sandbox.files.exists("d.txt")).toBe(false);
  });
});

describe("an edit", () => {
  it("leaves bytes that are no UTF-8 as they are, wherever they stand, and says that they are there", async () => {
    const bytes = Buffer.concat([
      Buffer.from(`first\n${"a".repeat(9000)}\ncaf`),
      Buffer.from([0xe9, 0xff, 0, 0x80]),
    ]);
    await sandbox.files.write("latin.txt", bytes);
    expect(await edit("latin.txt", "first", "second")).toMatchObject({
      status: "error",
      summary: '"latin.txt" is not UTF-8 text',
      data: { error: { code: "FILE_TYPE", hint: "Change it with run_code." } },
    });
    expect(await sandbox.files.read("latin.txt")).toEqual(bytes);
  });

  it("keeps a mark at the beginning of the file, and characters of any size", async () => {
    await sandbox.files.write("bom.txt", "\uFEFFä 😀 one\n");
    expect(await edit("bom.txt", "one", "two")).toMatchObject({ status: "success" });
    expect((await sandbox.files.read("bom.txt")).toString("utf8")).toBe("\uFEFFä 😀 two\n");
  });

  it.each(["file_edit", "file_write"])("by %s keeps the mode of the file", async (tool) => {
    await sandbox.exec(["sh", "-c", "printf '#!/bin/sh\\necho hi\\n' > s.sh; chmod 755 s.sh"]);
    const content = "#!/bin/sh\necho ho\n";
    await (tool === "file_edit"
      ? edit("s.sh", "hi", "ho")
      : tools.call("file_write", { path: "s.sh", content }));
    const { stdout } = await sandbox.exec(["sh", "-c", "stat -c %a s.sh; ./s.sh"]);
    expect(stdout).toBe("755\nho\n");
  });

  it("replaces and counts every place, however many there are", async () => {
    await sandbox.files.write("x.txt", "x\n".repeat(50_000));
    const reply = await edit("x.txt", "x", "yy", { replaceAll: true });
    expect(reply).toMatchObject({
      summary: "x.txt was edited: 50000 places",
      data: { replacements: 50_000, lines: Array.from({ length: 100 }, (_, index) => index + 1) },
    });
    expect(await sandbox.files.readText("x.txt")).toBe("yy\n".repeat(50_000));
  });

  it.each([
    ["too many places", "x".repeat(100_001), "y", "INVALID_ARGUMENT"],
    ["a file that would become too large", "x".repeat(100), "y".repeat(1_000_000), "FILE_TOO_LARGE"],
  ])("refuses %s", async (_, content, newText, code) => {
    await sandbox.files.write("x.txt", content);
    expect(await edit("x.txt", "x", newText, { replaceAll: true })).toMatchObject({
      data: { error: { code } },
    });
    expect(await sandbox.files.readText("x.txt")).toBe(content);
  });

  it.each([
    ["old", "o".repeat(100_001), "n"],
    ["new", "o", "n".repeat(1_000_001)],
  ])("refuses a %s text that is too long", async (_, oldText, newText) => {
    expect(await edit("x.txt", oldText, newText)).toMatchObject({
      status: "error",
      data: { error: { code: "INVALID_ARGUMENT" } },
    });
  });

  it.each([
    ["many places behind many lines", `${"\n".repeat(4 << 20)}${"x".repeat(10_000)}`, "x"],
    ["a text of many lines that is not there", "\n".repeat(1 << 20), "a\n".repeat(200)],
    ["a text made to be nearly everywhere", "a".repeat(8 << 20), `b${"a".repeat(50_000)}`],
    ["lines that are nearly there", " a  b\n".repeat(150_000), `${"a b\n".repeat(10_000)}c`],
  ])("does not hold up the process: %s", async (_, content, oldText) => {
    await sandbox.files.write("big.txt", content);
    const ms = await longestBlockMs(() => edit("big.txt", oldText, "y", { replaceAll: true }));
    expect(ms).toBeLessThan(5000);
  });
});

describe("the search of an edit", () => {
  it.each([
    ["a  b\n\n\tc\nd", "a b\nc", "Lines 1 to 3 differ"],
    ["x\n  a b\n c", "a b\nc\n", "Lines 2 to 3 differ"],
    ["a b c\n", "a  b", "Read the file again"],
    ["aa\naa\nab", "aa\n\nab", "Lines 2 to 3 differ"],
  ])("in %j knows what is meant by %j", async (text, wanted, words) => {
    expect(await describeMisses(text, wanted)).toContain(words);
  });

  it.each([
    ["aaaaaa", "aa", [0, 2, 4]],
    ["abababac", "ababac", [2]],
    ["aabaaabaaab", "aaab", [3, 7]],
    ["abc", "abcd", []],
    ["", "a", []],
  ])("in %j finds %j", async (text, wanted, places) => {
    expect(await findAll(text, wanted, 10)).toEqual(places);
  });
});
