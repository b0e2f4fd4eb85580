/**
 * A file name or path as the kernel keeps it: any bytes. One character of the string is one byte (latin1), so
 * nothing is lost, comparing is cheap, and a name that is not UTF-8 can still be opened and removed.
 */
export type ByteName = string;

/** The path of an entry beneath an open directory, for any call that does not follow its last component. */
export function entryPath(directoryFd: number, name: ByteName): string | Buffer {
  const path = `/proc/self/fd/${directoryFd}/${name}`;
  return isAscii(name) ? path : Buffer.from(path, "latin1");
}

/** The name as text. Bytes that are not UTF-8 become U+FFFD: such a file can be seen but not addressed. */
export function textOf(name: ByteName): string {
  return isAscii(name) ? name : Buffer.from(name, "latin1").toString("utf8");
}

/** The bytes of a text, as a name. */
export function byteNameOf(text: string | Uint8Array): ByteName {
  if (typeof text !== "string") return Buffer.from(text).toString("latin1");
  return isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

function isAscii(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (name.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}
