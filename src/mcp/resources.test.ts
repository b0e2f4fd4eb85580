import { describe, expect, it } from "vitest";
import { SandboxError } from "../kit/errors.js";
import type { ClientCall } from "./client-call.js";
import { listResources, readResource } from "./resources.js";
import type { SessionFiles } from "./session-files.js";

const call: ClientCall = {
  signal: new AbortController().signal,
  ask: async () => ({ why: "no one", by: "no one" }),
};

/** Files that can be changed between two pages. */
function filesOf(content: Record<string, Buffer | string>): SessionFiles {
  return {
    list: async () =>
      Object.entries(content).map(([path, bytes]) => ({
        path,
        type: "file",
        size: bytes.length,
        mode: 0o644,
        modifiedMs: 0,
      })),
    read: async (path) => {
      if (!Object.hasOwn(content, path)) throw new SandboxError("FILE_NOT_FOUND", "There is none");
      return Buffer.from(content[path]!);
    },
  };
}

describe("the list of files", () => {
  it("comes in pages, each file once, also where files come and go meanwhile", async () => {
    const content: Record<string, string> = {};
    for (let i = 0; i < 450; i++) content[`f${String(i).padStart(3, "0")}`] = "";
    const files = filesOf(content);
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await listResources(files, cursor, call);
      seen.push(...page.resources.map(({ name }) => name));
      cursor = page.nextCursor;
      pages++;
      delete content["f199"];
      delete content["f300"];
      content["e"] = "";
      content["f2000"] = "";
    } while (cursor !== undefined);
    expect(pages).toBe(3);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toContain("f199");
    expect(seen).toContain("f2000");
    expect(seen).not.toContain("f300");
    expect(seen).not.toContain("e");
  });

  it("ends with a page that is full, without another one after it", async () => {
    const content = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, ""]));
    expect((await listResources(filesOf(content), undefined, call)).nextCursor).toBeUndefined();
    expect(await listResources(filesOf({}), undefined, call)).toEqual({ resources: [] });
  });

  it("shows a hostile name in a form in which nothing acts, under an address that leads to it", async () => {
    const name = "\u001b]0;x\u0007<b>/\u202egnp.exe\n";
    const files = filesOf({ [name]: "found" });
    const { resources } = await listResources(files, undefined, call);
    expect(resources).toEqual([
      {
        uri: "workspace:///%1B%5D0%3Bx%07%3Cb%3E/%E2%80%AEgnp.exe%0A",
        name: "\\x1b]0;x\\x07<b>/\\u{202e}gnp.exe\\x0a",
        title: "\\u{202e}gnp.exe\\x0a",
        size: 5,
        annotations: { lastModified: "1970-01-01T00:00:00.000Z" },
      },
    ]);
    expect((await readResource(files, resources[0]!.uri, call)).contents).toMatchObject([{ text: "found" }]);
  });

  it.each([1e20, Number.NaN, -1e15])("survives a file whose time is %s", async (modifiedMs) => {
    const files: SessionFiles = {
      ...filesOf({}),
      list: async () => [{ path: "a", type: "file", size: 0, mode: 0, modifiedMs }],
    };
    expect((await listResources(files, undefined, call)).resources).toEqual([
      { uri: "workspace:///a", name: "a", title: "a", size: 0 },
    ]);
  });

  it.each(["", "!", "YQ==", "_-_"])("refuses %j, which is no cursor", async (cursor) => {
    await expect(listResources(filesOf({}), cursor, call)).rejects.toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});

it.each([
  ["a.txt", "häuser\n", { mimeType: "text/plain", text: "häuser\n" }],
  ["a", "", { mimeType: "text/plain", text: "" }],
  ["a.PNG", Buffer.from([0x89, 0xff]), { mimeType: "image/png", blob: "if8=" }],
  ["a.bin", Buffer.from("a\0b"), { mimeType: "application/octet-stream", blob: "YQBi" }],
  ["__proto__", "x", { mimeType: "text/plain", text: "x" }],
])("%s is read as what its content is", async (path, content, expected) => {
  const files = filesOf(Object.fromEntries([[path, content]]));
  expect(await readResource(files, `workspace:///${path}`, call)).toEqual({
    contents: [{ uri: `workspace:///${path}`, ...expected }],
  });
});
