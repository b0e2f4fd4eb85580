import { writeSync } from "node:fs";

/** Writes everything at the descriptor's position. */
export function writeAll(fd: number, data: Uint8Array): void {
  for (let offset = 0; offset < data.length; ) offset += writeSync(fd, data, offset, data.length - offset);
}
