import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../test/setup/clean-up.js";
import { requires } from "../../test/setup/requires.js";
import { installGuestRuntime } from "../runtime/backends/guest-runtime.js";
import { findSrtPackage, installSrtRuntime } from "../runtime/backends/srt/srt-package.js";
import { installOnce } from "./install-once.js";
import { processLabel } from "./process-label.js";

const linux = requires("linux");
const srt = requires("linux", "sandbox-runtime");

let stateDir: string;
let parent: string;
beforeEach(() => {
  stateDir = temporaryDirectory();
  parent = join(stateDir, "runtime");
});

/** Of a process that is gone, of one that lives, old without a label, new without a label. */
function leaveUnfinished(): void {
  const names = [".new-999999-1-x", `.new-${processLabel("x")}`, ".new-old", ".new-fresh"];
  for (const name of names) {
    mkdirSync(join(parent, name, "etc"), { recursive: true });
    writeFileSync(join(parent, name, "etc", "file"), "");
  }
  const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
  utimesSync(join(parent, ".new-old"), longAgo, longAgo);
}

const unfinished = () => readdirSync(parent).filter((name) => name.startsWith(".new-"));
const kept = () => [`.new-${processLabel("x")}`, ".new-fresh"].sort();

describe("installing", () => {
  it("puts a directory in place whole, and keeps the first", () => {
    const install = (content: string) =>
      installOnce(parent, "it", (directory) => {
        expect(existsSync(join(parent, "it", "file"))).toBe(content === "second");
        writeFileSync(join(directory, "file"), content);
      });
    install("first");
    install("second");
    expect([readdirSync(parent), readdirSync(join(parent, "it"))]).toEqual([["it"], ["file"]]);
  });

  it("leaves nothing when it fails", () => {
    const install = () =>
      installOnce(parent, "it", () => {
        throw new Error("no room");
      });
    expect(install).toThrow("no room");
    expect(readdirSync(parent)).toEqual([]);
  });
});

linux.describe("the guest's runtime", () => {
  it("comes without what killed processes left, also where it is installed already", () => {
    leaveUnfinished();
    installGuestRuntime(stateDir);
    expect(unfinished().sort()).toEqual(kept());
    leaveUnfinished();
    installGuestRuntime(stateDir);
    expect(unfinished().sort()).toEqual(kept());
  });
});

srt.describe("sandbox-runtime's copy", () => {
  it("comes without what killed processes left, also where it is installed already", () => {
    const install = () => installSrtRuntime(stateDir, findSrtPackage()!, process.execPath);
    leaveUnfinished();
    install();
    expect(unfinished().sort()).toEqual(kept());
    leaveUnfinished();
    install();
    expect(unfinished().sort()).toEqual(kept());
  });
});
