import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemCode } from "../../../../kit/errors.js";
import { unlessMissing } from "../../../../kit/if-missing.js";

/** A random name of a state directory, made once and kept in it: machines and paths are copied. "": there is none yet. */
export function stateDirectoryId(stateDir: string): string {
  const file = join(resolve(stateDir), "state-id");
  return read(file) ?? make(file);
}

function make(file: string): string {
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(unfinished, randomBytes(16).toString("hex"), { mode: 0o600, flag: "wx" });
    linkSync(unfinished, file);
  } catch (error) {
    // Nothing can have been made in a directory that is not there; and of two who make it at once, one is first.
    if (systemCode(error) === "ENOENT") return "";
    if (systemCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
  return read(file) ?? "";
}

function read(file: string): string | undefined {
  return unlessMissing(undefined, () => readFileSync(file, "utf8"));
}
