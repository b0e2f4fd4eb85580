import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { createUser, type User } from "./run-skerry.js";

const { describe, it } = requires("linux", "bubblewrap", "sandbox-runtime", "python3");

let user: User;
beforeAll(() => {
  user = createUser();
});

describe("--backend srt", () => {
  it("runs a program, and leaves only what is kept for the next", () => {
    writeFileSync(
      join(user.home, "prog.py"),
      "import os\nprint('hello from', os.getcwd(), os.environ.get('OF_THE_HOST'))",
    );
    const env = { OF_THE_HOST: "secret" };
    expect(user.skerry(["run", "--backend", "srt", "prog.py"], { env })).toEqual({
      status: 0,
      stdout: "hello from /workspace None\n",
      stderr: "",
    });
    expect(readdirSync(join(user.home, "state", "ephemeral"))).toEqual([]);
    expect(readdirSync(join(user.home, ".skerry", "srt-sessions"))).toEqual([]);
  });

  it("blocks what it is to block", () => {
    const script = "cat /etc/shadow; touch /usr/bin/evil; exec 3<>/dev/tcp/10.255.255.1/80";
    const { status, stderr } = user.skerry(["exec", "--backend", "srt", "--", "bash", "-c", script]);
    expect(status).toBe(1);
    expect(stderr.split("\n").map((line) => line.split(": ").at(-1))).toEqual([
      "No such file or directory",
      "Read-only file system",
      "Network is unreachable",
      "Network is unreachable",
      "",
    ]);
  });

  it("refuses a user's settings that would open it", () => {
    writeFileSync(
      join(user.home, ".skerry", "srt-settings.json"),
      '{ "network": { "allowedDomains": ["a.example"] } }',
    );
    const { status, stderr } = user.skerry(["exec", "--backend", "srt", "--", "true"]);
    expect([status, stderr.split("\n")[0]]).toEqual([
      78,
      expect.stringContaining("sandbox.backends.srt.settingsPath: ~/.skerry/srt-settings.json:"),
    ]);
  });

  it("is one of the backends that doctor knows", () => {
    const { backends } = JSON.parse(user.skerry(["doctor", "--json"]).stdout) as {
      backends: { name: string; available: boolean; version?: string }[];
    };
    expect(backends.find(({ name }) => name === "srt")).toMatchObject({ available: true, version: "0.0.78" });
    expect(backends.map(({ name }) => name).indexOf("bubblewrap")).toBe(0);
  });
});
