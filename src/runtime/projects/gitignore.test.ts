import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { IgnoreRules } from "./gitignore.js";

const { it } = requires("linux", "git");

const RULES = [
  "# a comment",
  "*",
  "!*",
  "sub/",
  "!sub/",
  "*.log",
  "!keep.log",
  "/top.txt",
  "build/",
  "docs/*.html",
  "**/cache",
  "a/**/z.txt",
  "deep/**",
  "\\#literal",
  "\\!literal",
  "trailing   ",
  "escaped\\ ",
  "[abc].c",
  "[!abc].h",
  "{x,y}.txt",
  "[unclosed",
  "src/gen",
].join("\r\n");
const LESS = "x.log\n!/b.log\n/only\n";
const PATHS = [
  ..."a.log keep.log sub/keep.log top.txt sub/top.txt build/x sub/build/x build docs/a.html docs/sub/a.html".split(
    " ",
  ),
  ..."cache x/cache x/cache/y a/z.txt a/b/z.txt a/b/c/z.txt deep deep/x deep/x/y #literal !literal trailing".split(
    " ",
  ),
  ..."a.c d.c a.h d.h x.txt {x,y}.txt [unclosed src/gen src/gen/x other/src/gen nested/x.log nested/b.log nested/only".split(
    " ",
  ),
  "escaped ",
  "nested/in/only",
];

it("ignores what git ignores", () => {
  const directory = temporaryDirectory();
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: directory,
      encoding: "utf8",
      input: `${PATHS.join("\0")}\0`,
      env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    });
  git("init", "-q");
  mkdirSync(join(directory, "nested"));
  writeFileSync(join(directory, ".gitignore"), RULES);
  writeFileSync(join(directory, "nested/.gitignore"), LESS);
  const records = git("check-ignore", "--no-index", "-z", "--stdin", "-v", "-n").split("\0");
  const byGit = PATHS.filter((_, index) => {
    const [source = "", , pattern = ""] = records.slice(index * 4);
    return source !== "" && !pattern.startsWith("!");
  });
  const rules = new IgnoreRules();
  rules.add("", RULES);
  rules.add("nested", LESS);
  expect(PATHS.filter((path) => rules.ignores(path, false))).toEqual(byGit);
  expect(byGit.length).toBeGreaterThan(15);
});

it("is not held up by a pattern that a backtracking matcher would never finish", () => {
  const rules = new IgnoreRules();
  rules.add("", `${"*a".repeat(60)}b\n${"**/a/".repeat(60)}b\n`);
  const start = performance.now();
  for (let count = 0; count < 100; count++) {
    expect(rules.ignores("a".repeat(250), false)).toBe(false);
    expect(rules.ignores(Array(60).fill("a").join("/"), false)).toBe(false);
  }
  // Backtracking would take longer than the universe has.
  expect(performance.now() - start).toBeLessThan(20_000);
});
