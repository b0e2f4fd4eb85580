const BLOCK = 512;

export type TarEntry =
  | { readonly name: string; readonly mode: number; readonly content: Uint8Array }
  | { readonly name: string; readonly linkTo: string }
  | { readonly name: string; readonly isDirectory: true };

/** A tar archive of a few files with short names, in the format that every daemon reads. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  return Buffer.concat([...entries.flatMap(writeEntry), Buffer.alloc(2 * BLOCK)]);
}

function writeEntry(entry: TarEntry): Buffer[] {
  const content = "content" in entry ? Buffer.from(entry.content) : Buffer.alloc(0);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  if (entry.name.length > 100) throw new RangeError(`too long for an archive: ${entry.name}`);
  header.write(entry.name, 0, "latin1");
  octal("mode" in entry ? entry.mode : "isDirectory" in entry ? 0o755 : 0o777, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  header.fill(" ", 148, 156);
  header.write("linkTo" in entry ? "2" : "isDirectory" in entry ? "5" : "0", 156, "latin1");
  if ("linkTo" in entry) header.write(entry.linkTo, 157, "latin1");
  header.write("ustar\0" + "00", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return [header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
}
