import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { expandHome } from "../../kit/expand-home.js";
import { DEFAULT_CONFIG } from "./defaults.js";
import { loadConfig } from "./load.js";

let home: string;
beforeEach(() => {
  home = temporaryDirectory();
  mkdirSync(join(home, ".skerry"));
});

const load = (path?: string, env: Record<string, string> = {}) =>
  loadConfig({ env, home, ...(path !== undefined && { path }) });

/** Writes a file and gives its path. */
function file(name: string, content: string | Uint8Array): string {
  const path = join(home, name);
  writeFileSync(path, content);
  return path;
}

const failure = (code: string, message: string) => expect.objectContaining({ code, message });

describe("where the configuration comes from", () => {
  it("is the defaults when there is no file", async () => {
    expect(await load()).toBe(DEFAULT_CONFIG);
  });

  it.each([
    ["config.json", '{"sandbox":{"backend":"docker"}}'],
    ["config.yaml", "# why\nsandbox:\n  backend: docker\n"],
    ["config.yml", "sandbox: {backend: docker}"],
  ])("is ~/.skerry/%s", async (name, text) => {
    file(`.skerry/${name}`, text);
    expect((await load()).sandbox.backend).toBe("docker");
  });

  it("is the given file instead of the one at home", async () => {
    file(".skerry/config.json", '{"sandbox":{"backend":"docker"}}');
    expect((await load(file("mine.yaml", "sandbox: {mode: shared}"))).sandbox).toMatchObject({
      backend: "auto",
      mode: "shared",
    });
  });

  it.each([
    ["JSON", '\n {"sandbox":{"mode":"shared"}}'],
    ["YAML", "sandbox:\n  mode: shared"],
  ])("is told from its content when the name does not say: %s", async (_, text) => {
    expect((await load(file("settings", text))).sandbox.mode).toBe("shared");
  });

  it("ends with the environment", async () => {
    file(".skerry/config.json", '{"sandbox":{"backend":"docker","mode":"shared"}}');
    const { sandbox } = await load(undefined, {
      SKERRY_SANDBOX__BACKEND: "srt",
      SKERRY_STATE_DIR: "/x",
      SKERRY_HOME: "",
    });
    expect(sandbox).toMatchObject({ backend: "srt", mode: "shared" });
  });

  it("does not load the schema's library when there is nothing to check", async () => {
    vi.resetModules();
    vi.doMock("zod", () => {
      throw new Error("zod was loaded");
    });
    try {
      const fresh = await import("./load.js");
      expect(await fresh.loadConfig({ env: {}, home })).toEqual(DEFAULT_CONFIG);
      await expect(fresh.loadConfig({ env: { SKERRY_SANDBOX__MODE: "shared" }, home })).rejects.toThrow();
    } finally {
      vi.doUnmock("zod");
      vi.resetModules();
    }
  });
});

describe("a file that cannot be used", () => {
  it("is named when it does not exist", async () => {
    await expect(load("nowhere/c.json")).rejects.toEqual(
      failure("FILE_NOT_FOUND", "nowhere/c.json: there is no such configuration file"),
    );
  });

  it("is refused when there are two at home", async () => {
    file(".skerry/config.json", "{}");
    file(".skerry/config.yml", "");
    await expect(load()).rejects.toEqual(
      failure("CONFIG_INVALID", "there are two configurations: ~/.skerry/config.json, ~/.skerry/config.yml"),
    );
  });

  it("is refused when it is a directory", async () => {
    await expect(load(home)).rejects.toEqual(failure("CONFIG_INVALID", `${home}: cannot be read (EISDIR)`));
  });

  it("is refused when it is endless", async () => {
    await expect(load("/dev/zero")).rejects.toEqual(
      failure("CONFIG_INVALID", "/dev/zero: larger than 1 MiB"),
    );
  });

  it("is refused when it is not text", async () => {
    const path = file("c.json", Uint8Array.of(0xff, 0xfe, 0x00));
    await expect(load(path)).rejects.toEqual(failure("CONFIG_INVALID", `${path}: not UTF-8 text`));
  });

  it("is named as the user named it, with the place, and without its content", async () => {
    const path = file("c.json", '{\n  "apiKey": "s3cret",\n}');
    await expect(load(path)).rejects.toEqual(
      failure("CONFIG_INVALID", `${path}: not valid JSON at line 3, column 1`),
    );
  });

  it.each([
    ["a tag of one's own", "sandbox: !evil {}"],
    ["a tag for binary data", "sandbox: !!binary aGk="],
    ["the same key twice", "sandbox: {}\nsandbox: {}"],
    ["two documents", "sandbox: {}\n---\nsandbox: {}"],
    ["a broken line", "sandbox: {backend: 's3cret"],
    ["a key that is a list", "? [a]\n: b"],
  ])("is refused as YAML with %s", async (_, text) => {
    const path = file("c.yaml", text);
    const error = await load(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(String(error)).toContain(`${path}: not valid YAML at line `);
    expect(String(error)).not.toContain("s3cret");
  });

  it("is refused as YAML that grows when it is read", async () => {
    const levels = ["a: &a [x,x,x,x,x,x,x,x,x,x]"];
    for (const [from, to] of ["ab", "bc", "cd", "de", "ef", "fg"].map((pair) => [...pair])) {
      levels.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(",")}]`);
    }
    const path = file("bomb.yaml", levels.join("\n"));
    await expect(load(path)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("is refused as YAML nested without end", async () => {
    const path = file("deep.yaml", `${"[".repeat(20_000)}`);
    await expect(load(path)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  it("has its problems listed under its name", async () => {
    const path = file("c.yaml", "sandbox:\n  netwrok: {}\n");
    await expect(load(path)).rejects.toEqual(
      failure("CONFIG_INVALID", `${path}: sandbox.netwrok: unknown key, did you mean "network"?`),
    );
  });
});

it("puts the home directory in place of ~ and of nothing else", () => {
  expect(["~", "~/.ssh", "~root/x", "/a/~", "a"].map((path) => expandHome(path, "/home/me"))).toEqual([
    "/home/me",
    "/home/me/.ssh",
    "~root/x",
    "/a/~",
    "a",
  ]);
});
