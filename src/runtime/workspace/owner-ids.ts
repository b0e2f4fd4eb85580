import { randomBytes, randomInt } from "node:crypto";
import { mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { unlessMissing } from "../../kit/if-missing.js";
import type { Owner } from "./descriptor-walk.js";

/**
 * Takes a user id that no other workspace of this state directory has, so that the kernel keeps sandboxes apart
 * even where a wall fails. `maker` and `holder` say who took it and for which directory, for `releaseUnheld`.
 */
export function allocateOwner(
  stateDir: string,
  range: { readonly start: number; readonly count: number },
  maker: string,
  holder: string,
): Owner {
  if (range.count === 0) {
    throw new SandboxError("BACKEND_UNAVAILABLE", "This user namespace has no user ids for sandboxes", {
      hint: "Give the container a range of user ids, set backends.bubblewrap.uidRange to ids that exist in it, or run Skerry as an ordinary user.",
    });
  }
  const directory = join(stateDir, "owners");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const attempts = Math.min(range.count * 4, 100_000);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const uid = range.start + randomInt(range.count);
    try {
      // A link that leads nowhere: it is there with what it says, whenever we are killed.
      symlinkSync(`${maker}\n${holder}`, join(directory, String(uid)));
      return { uid, gid: uid };
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }
  throw new SandboxError("SANDBOX_START_FAILED", "Every user id of the range is taken by a session", {
    hint: "Delete sessions, or widen backends.bubblewrap.uidRange.",
  });
}

/** Moves a taken id to another directory; a concurrent reader sees one or the other. */
export function moveOwner(stateDir: string, { uid }: Owner, maker: string, holder: string): void {
  const file = join(stateDir, "owners", String(uid));
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  symlinkSync(`${maker}\n${holder}`, unfinished);
  renameSync(unfinished, file);
}

export function releaseOwner(stateDir: string, owner: Owner): void {
  rmSync(join(stateDir, "owners", String(owner.uid)), { force: true });
}

/** Gives back the ids without a holder. */
export function releaseUnheld(
  stateDir: string,
  isHeld: (maker: string, holder: string, uid: number) => boolean,
): void {
  const directory = join(stateDir, "owners");
  for (const name of namesIn(directory)) {
    // Empty: another process has given it back meanwhile.
    const link = unlessMissing("", () => readlinkSync(join(directory, name)));
    const [maker = "", holder = ""] = link.split("\n");
    if (holder !== "" && !isHeld(maker, holder, Number(name))) rmSync(join(directory, name), { force: true });
  }
}

/** How many ids are taken. */
export function countOwners(stateDir: string): number {
  return namesIn(join(stateDir, "owners")).length;
}

function namesIn(directory: string): string[] {
  return unlessMissing([], () => readdirSync(directory));
}
