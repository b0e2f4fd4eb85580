/** One entry, as its bytes are to be. */
export interface RawEntry {
  readonly name: string | Buffer;
  readonly type?: string;
  readonly mode?: number;
  readonly size?: number | Buffer;
  readonly link?: string;
  readonly prefix?: string;
  readonly content?: string | Buffer;
  readonly magic?: string;
}

/** An archive byte by byte: no library writes what attacks are made of. */
export function tar(...entries: (RawEntry | Buffer)[]): Buffer {
  return Buffer.concat([
    ...entries.map((entry) => (Buffer.isBuffer(entry) ? entry : block(entry))),
    Buffer.alloc(1024),
  ]);
}

/** A header and its content, with a checksum that is right. */
export function block({
  name,
  type = "0",
  mode = 0o644,
  size,
  link = "",
  prefix = "",
  content = "",
  magic = "ustar\x0000",
}: RawEntry): Buffer {
  const header = Buffer.alloc(512);
  const body = Buffer.from(content);
  header.set(Buffer.from(name).subarray(0, 100), 0);
  header.write(`${mode.toString(8).padStart(7, "0")}\0`, 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  if (Buffer.isBuffer(size)) header.set(size, 124);
  else header.write(`${(size ?? body.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(type, 156);
  header.write(link, 157);
  header.write(magic, 257, "latin1");
  header.write(prefix, 345);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** A header with records for the entry after it. */
export function pax(records: Record<string, string>, type = "x"): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (String(length).length + Buffer.byteLength(rest) !== length) length++;
    return `${length}${rest}`;
  });
  return block({ name: "PaxHeader", type, content: lines.join("") });
}

/** Makes the checksum of a header right again. */
export function seal(archive: Buffer, start: number): void {
  archive.fill(" ", start + 148, start + 156);
  const sum = archive.subarray(start, start + 512).reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, start + 148);
}
