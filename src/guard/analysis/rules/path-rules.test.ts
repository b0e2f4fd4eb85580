import { describe, expect, it } from "vitest";
import { assessPath, isSecretPath, isWholeTree } from "./path-rules.js";

describe("a path", () => {
  it.each([
    ["notes.txt", ["low", "low", "low"]],
    ["/tmp/x/y", ["low", "low", "low"]],
    ["/dev/null", [undefined, undefined, undefined]],
    ["/data/in.csv", ["low", "medium", "medium"]],
    ["../sibling/a", ["low", "medium", "medium"]],
    ["/etc/hosts", ["low", "high", "critical"]],
    ["/etc/passwd", ["medium", "critical", "critical"]],
    ["/etc/shadow", ["high", "critical", "critical"]],
    ["~/.ssh/id_rsa", ["high", "high", "high"]],
    [".env", ["medium", "low", "medium"]],
    ["~/.bashrc", ["low", "high", "high"]],
    ["/var/log/syslog", ["medium", "high", "critical"]],
    ["/dev/sda", ["high", "critical", "critical"]],
    ["/proc/self/environ", ["high", "critical", "critical"]],
    ["/proc/sys/kernel/sysrq", ["low", "critical", "critical"]],
    ["/tmp/docker.sock", ["critical", "critical", "critical"]],
    ["/", ["low", "high", "critical"]],
    ["~", ["low", "high", "critical"]],
    ["*", ["low", "low", "medium"]],
  ] as const)("%s is judged by what is done to it", (path, levels) => {
    expect((["read", "write", "remove"] as const).map((access) => assessPath(path, access)?.level)).toEqual(
      levels,
    );
  });

  it.each([
    ["/etc//shadow"],
    ["/etc/./shadow"],
    ["/tmp/../etc/shadow"],
    ["../../../../etc/shadow"],
    ["file:///etc/shadow"],
    ["$HOME/.ssh/id_rsa"],
    ["/root/.aws/credentials"],
  ])("%s is a secret however it is spelt", (path) => {
    expect(isSecretPath(path)).toBe(true);
  });

  it.each(["id_rsa.pub", ".env.example", "shadow.txt", "docs/etc/shadow.md"])("%s is none", (path) => {
    expect(isSecretPath(path)).toBe(false);
  });

  it("is a whole tree only when it is all of a system or of a home", () => {
    expect(["/", "/*", "~", "/home", "/home/ada", "$HOME/"].map(isWholeTree)).toEqual(Array(6).fill(true));
    expect(["/home/ada/x", ".", "/tmp", "~/x"].map(isWholeTree)).toEqual(Array(4).fill(false));
  });
});
