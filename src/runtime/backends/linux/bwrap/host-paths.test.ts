import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { filesystemArguments } from "./host-paths.js";

const NONE = { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] };
let shared: string;

beforeEach(() => {
  shared = temporaryDirectory();
  mkdirSync(join(shared, "deep/secrets"), { recursive: true });
  for (const name of [".env", "a.pem", "deep/b.pem", "deep/secrets/key", "plain.txt"])
    writeFileSync(join(shared, name), "x");
});

describe("filesystemArguments", () => {
  it("shares nothing by default, whatever is denied", () => {
    expect(
      filesystemArguments({ ...NONE, denyRead: ["/root/.ssh", "*.pem"], denyWrite: [".env"] }, "/empty"),
    ).toEqual([]);
  });

  it("hides what must not be read and protects what must not be written in shared directories", () => {
    const rules = {
      ...NONE,
      allowWrite: [shared],
      denyRead: [`${shared}/deep/secrets`],
      denyWrite: [".env", "*.pem"],
    };
    const bind = (path: string) => ["--ro-bind", join(shared, path), join(shared, path)];
    const found = filesystemArguments(rules, "/empty");
    expect(found.slice(0, 3)).toEqual(["--bind", shared, shared]);
    const rest = found.slice(3);
    for (const path of [".env", "a.pem", "deep/b.pem"])
      expect(rest.join(" ")).toContain(bind(path).join(" "));
    expect(rest.join(" ")).toContain(`--ro-bind /empty ${shared}/deep/secrets`);
    expect(rest.length).toBe(12);
  });

  it("applies globs to reading as well", () => {
    const found = filesystemArguments({ ...NONE, allowRead: [shared], denyRead: ["**/*.pem"] }, "/empty");
    expect(found.filter((each) => each === "/dev/null").length).toBe(2);
  });

  it.each(["/", "relative", "/proc/1", "/sys", "/dev/sda", "/run/docker.sock", "/tmp/*"])(
    "refuses to share %s",
    (path) => {
      expect(() => filesystemArguments({ ...NONE, allowRead: [path] }, "/empty")).toThrow(
        expect.objectContaining({ code: "CONFIG_INVALID" }),
      );
    },
  );

  it("says when a shared path does not exist", () => {
    expect(() => filesystemArguments({ ...NONE, allowRead: ["/no/such/path"] }, "/empty")).toThrow(
      expect.objectContaining({ code: "FILE_NOT_FOUND" }),
    );
  });
});
