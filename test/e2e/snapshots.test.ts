import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

let user: User;
beforeAll(() => {
  user = createUser();
});

const snapshots = (...args: string[]) => user.skerry(["snapshots", ...args]);
const ID = /^snap-[0-9a-f]{16}\n$/;

describe("skerry snapshots", () => {
  it("takes one, lists it, brings it back and deletes it", () => {
    user.skerry([
      "exec",
      "-s",
      "work",
      "--",
      "sh",
      "-c",
      "echo 1 > f; mkdir d; echo 2 > d/g; echo KEY > .env",
    ]);
    const created = snapshots("create", "--session", "work", "--name", "clean");
    expect(created).toEqual({ status: 0, stdout: expect.stringMatching(ID), stderr: "" });
    const id = created.stdout.trim();
    expect(snapshots("ls", "--session", "work")).toEqual({ status: 0, stdout: `${id}\n`, stderr: "" });
    const info = {
      id,
      name: "clean",
      sessionId: "work",
      createdAt: expect.any(String),
      files: 3,
      bytes: 8,
      storedBytes: 8,
      skipped: 0,
    };
    expect(JSON.parse(snapshots("ls", "--session", "work", "--json").stdout)).toEqual([info]);

    user.skerry([
      "exec",
      "-s",
      "work",
      "--",
      "sh",
      "-c",
      "rm -r d; echo other > f; echo new > .env; touch x",
    ]);
    expect(snapshots("restore", "--session", "work", id)).toEqual({
      status: 0,
      stdout: "3 written, 1 removed, 0 unchanged\n",
      stderr: "skerry: .env: denyWrite protects it\n",
    });
    expect(user.skerry(["exec", "-s", "work", "--", "cat", "f", "d/g", ".env"]).stdout).toBe("1\n2\nnew\n");
    expect(JSON.parse(snapshots("restore", "--session", "work", id, "--json").stdout)).toEqual({
      written: 0,
      removed: 0,
      unchanged: 3,
      skipped: [{ path: ".env", reason: "denyWrite protects it" }],
    });
    expect(snapshots("rm", "--session", "work", id, "--json").stdout).toBe(`["${id}"]\n`);
    expect(snapshots("rm", "--session", "work", id)).toEqual({
      status: 66,
      stdout: "",
      stderr: `skerry: session "work" has no snapshot "${id}"\nhint: List them with: skerry snapshots ls --session work\n`,
    });
    expect(snapshots("ls", "--session", "work").stdout).toBe("");
  });

  it("exports and imports archives, through files and pipes", () => {
    user.skerry(["exec", "-s", "from", "--", "sh", "-c", "echo 1 > f"]);
    user.skerry(["exec", "-s", "to", "--", "true"]);
    const id = snapshots("create", "-s", "from").stdout.trim();
    expect(snapshots("export", "-s", "from", id)).toEqual({ status: 0, stdout: "", stderr: "" });
    const archive = readFileSync(join(user.home, `${id}.tar`));
    expect(JSON.parse(snapshots("export", "-s", "from", id, "x.tar", "--json").stdout)).toEqual({
      id,
      file: "x.tar",
      bytes: archive.length,
    });
    expect(snapshots("export", "-s", "from", id, "-").stdout).toBe(archive.toString());
    expect(snapshots("export", "-s", "from", id, "-", "--json").status).toBe(64);
    expect(snapshots("import", "-s", "to", "x.tar").stdout).toMatch(ID);
    const imported = user.skerry(["snapshots", "import", "-s", "to", "-", "--name", "piped", "--json"], {
      input: archive.toString(),
    });
    expect(JSON.parse(imported.stdout)).toMatchObject({
      name: "piped",
      sessionId: "to",
      files: 1,
      storedBytes: 0,
    });
    writeFileSync(join(user.home, "bad.tar"), "no archive");
    expect(snapshots("import", "-s", "to", "bad.tar")).toEqual({
      status: 64,
      stdout: "",
      stderr: expect.stringMatching(
        /^skerry: The archive is refused: it .*\nhint: Give an uncompressed tar .*\n$/,
      ),
    });
    expect(snapshots("import", "-s", "to", "missing.tar")).toMatchObject({ status: 66 });
  });

  it("forks a session, and refuses one that exists or a snapshot that does not", () => {
    user.skerry(["exec", "-s", "trunk", "--", "sh", "-c", "echo 1 > f"]);
    const id = snapshots("create", "-s", "trunk").stdout.trim();
    user.skerry(["exec", "-s", "trunk", "--", "sh", "-c", "echo 2 > f"]);
    expect(snapshots("fork", "-s", "trunk", "branch", "--snapshot", id)).toEqual({
      status: 0,
      stdout: "branch\n",
      stderr: "",
    });
    expect(user.skerry(["files", "cat", "-s", "branch", "f"]).stdout).toBe("1\n");
    const forked = JSON.parse(snapshots("fork", "-s", "trunk", "--json").stdout);
    expect(user.skerry(["files", "cat", "-s", forked.sessionId, "f"]).stdout).toBe("2\n");
    expect(snapshots("fork", "-s", "trunk", "branch").status).toBe(73);
    expect(snapshots("restore", "-s", "trunk", "../../x")).toEqual({
      status: 66,
      stdout: "",
      stderr: expect.stringContaining('skerry: This session has no snapshot "../../x"\n'),
    });
    expect(snapshots("ls", "-s", "none")).toMatchObject({ status: 66, stdout: "" });
    expect(JSON.parse(snapshots("create", "-s", "none", "--json").stdout)).toMatchObject({
      error: { code: "SESSION_NOT_FOUND" },
    });
    expect(user.skerry(["sessions"]).stdout.split("\n")).not.toContain("none");
  });

  it("shows a person more than a program", async () => {
    user.skerry(["exec", "-s", "person", "--", "sh", "-c", "head -c 1500 /dev/zero > large; echo 1 > f"]);
    const at = (...args: string[]) =>
      atTerminal([LAUNCHER, "snapshots", ...args], [], { env: user.environment, cwd: user.home });
    const created = await at("create", "-s", "person", "--name", "a\u202eb");
    const [id] = /snap-[0-9a-f]{16}/.exec(created.lines.join())!;
    expect(created).toEqual({ lines: [`${id}  2 files, 1.5 kB, 1.5 kB of them new`, ""], status: 0 });
    const listed = await at("ls", "-s", "person");
    expect(listed.lines).toEqual([
      expect.stringMatching(/^ID +CREATED +FILES +SIZE +NAME$/),
      expect.stringMatching(
        new RegExp(`^${id}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d +2  1.5 kB  a\\\\u\\{202e\\}b$`),
      ),
      "",
    ]);
    await at("rm", "-s", "person", id);
    expect((await at("ls", "-s", "person")).lines).toEqual(["no snapshots", ""]);
  });

  it("does not bring files back under a session that runs in another process", async () => {
    user.skerry(["exec", "-s", "busy", "--", "sh", "-c", "echo 1 > f"]);
    const id = snapshots("create", "-s", "busy").stdout.trim();
    const wait = "until [ -e go ]; do sleep 0.05; done";
    const running = spawn(LAUNCHER, ["exec", "-s", "busy", "--", "sh", "-c", `echo up; ${wait}`], {
      cwd: user.home,
      env: user.environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(running, "exit");
    await once(running.stdout, "data");
    expect(snapshots("restore", "-s", "busy", id)).toEqual({
      status: 75,
      stdout: "",
      stderr: expect.stringContaining('skerry: session "busy" runs in another process\n'),
    });
    writeFileSync(join(user.home, "go"), "");
    user.skerry(["files", "put", "-s", "busy", "go"]);
    expect(await ended).toEqual([0, null]);
    expect(snapshots("restore", "-s", "busy", id).stdout).toBe("0 written, 1 removed, 1 unchanged\n");
  });
});
