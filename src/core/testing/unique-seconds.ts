import { randomBytes } from "node:crypto";

/** A number of seconds that no other sleeping process of this host has: a mark to find one by. */
export function uniqueSeconds(): string {
  return `4${randomBytes(4).readUInt32LE(0)}`;
}
