import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../setup/clean-up.js";
import { requires } from "../setup/requires.js";
import { atTerminal } from "./at-terminal.js";
import { ROOT } from "./run-skerry.js";

// What a host lacks would be installed.
const { describe, it } = requires("linux", "bubblewrap", "python3");

/** A checkout with the real set-up, whose program is small. */
let checkout: string;
let environment: Record<string, string>;

/** `build` is what builds it. */
function createCheckout(build: string): void {
  const client = { name: "small-client", version: "1.0.0" };
  const scripts = { build, "build:bench": "true" };
  const manifest = { name: "small", version: "1.0.0", workspaces: ["packages/*"], scripts };
  const packages = {
    "": manifest,
    "packages/client": client,
    "node_modules/small-client": { resolved: "packages/client", link: true },
  };
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(checkout, "packages/client/package.json"), JSON.stringify(client));
  writeFileSync(join(checkout, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(checkout, "package-lock.json"), JSON.stringify(lock));
}

beforeEach(() => {
  checkout = temporaryDirectory();
  environment = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: checkout, npm_config_offline: "true" };
  for (const directory of [
    "scripts",
    "src",
    "packages/client/src",
    "packages/client/dist",
    "bench",
    "examples",
  ])
    mkdirSync(join(checkout, directory), { recursive: true });
  mkdirSync(join(checkout, "guest"));
  mkdirSync(join(checkout, "dist/bin"), { recursive: true });
  for (const directory of readdirSync(join(ROOT, "prebuilt"))) {
    mkdirSync(join(checkout, "prebuilt", directory), { recursive: true });
    writeFileSync(join(checkout, "prebuilt", directory, "skerry-guest"), "");
  }
  for (const file of ["scripts/setup.sh", "skerry"]) copyFileSync(join(ROOT, file), join(checkout, file));
  writeFileSync(join(checkout, "packages/client/tsconfig.json"), "{}");
  for (const name of ["tsconfig", "tsconfig.build", "tsconfig.bench"])
    writeFileSync(join(checkout, `${name}.json`), "{}");
  writeFileSync(join(checkout, "dist/bin/skerry.cjs"), "console.log(process.argv[2])");
  writeFileSync(join(checkout, "packages/client/dist/index.js"), "");
});

const setUp = () =>
  spawnSync(join(checkout, "skerry"), ["started"], { cwd: "/", env: environment, encoding: "utf8" });

describe("the set-up", () => {
  it("says before and after each step what it does, and how long it took", () => {
    createCheckout("sleep 2");
    const { status, stdout, stderr } = setUp();
    expect(stderr).toMatch(
      /^skerry: installing npm packages\nskerry: installing npm packages: done in \d+ s\nskerry: compiling TypeScript\nskerry: compiling TypeScript: done in [2-9]\d* s\n$/,
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: "started\n" });
    expect(setUp()).toMatchObject({ status: 0, stdout: "started\n", stderr: "" });
  });

  it("counts the seconds on a terminal, in a line that is gone afterwards", async () => {
    createCheckout("sleep 2");
    const { lines, status } = await atTerminal([join(checkout, "skerry"), "started"], [], {
      env: environment,
      cwd: "/",
    });
    const shown = lines.join("\n");
    expect(shown).toMatch(/skerry: compiling TypeScript: 0 s/);
    expect(shown).toMatch(/skerry: compiling TypeScript: done in [2-9]\d* s\nstarted\n$/);
    expect(status).toBe(0);
  });

  it("shows what a step said that failed", () => {
    createCheckout("echo 'no such type'; exit 1");
    const { status, stdout, stderr } = setUp();
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("  | no such type\nskerry: the build failed\nhint: See ");
    expect(stderr).not.toContain("compiling TypeScript: done");
  });
});
