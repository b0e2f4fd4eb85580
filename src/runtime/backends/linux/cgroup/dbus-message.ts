/** A string, object path, number, boolean or list of numbers, with the D-Bus type it is sent as. */
export type DbusProperty =
  | readonly [name: string, type: "s", value: string]
  | readonly [name: string, type: "b", value: boolean]
  | readonly [name: string, type: "au", value: readonly number[]];

/** What is read of a message: whose answer it is, or which signal, and the strings of its body. */
export interface DbusMessage {
  readonly kind: "answer" | "error" | "signal" | "other";
  readonly member?: string;
  readonly strings: readonly string[];
}

const KINDS: Readonly<Record<number, DbusMessage["kind"]>> = { 2: "answer", 3: "error", 4: "signal" };
const HEADER_BYTES = 16;
/** The specification's own limit is 128 MiB; systemd's answers have hundreds of bytes. */
const MAX_BYTES = 1024 * 1024;
const FIELD_MEMBER = 3;
const FIELD_SIGNATURE = 8;

/** Writes D-Bus values, little endian, each at the boundary that its type has. */
class DbusWriter {
  readonly #parts: Buffer[] = [];
  #length = 0;

  align(boundary: number): this {
    return this.#add(Buffer.alloc((boundary - (this.#length % boundary)) % boundary));
  }

  byte(value: number): this {
    return this.#add(Buffer.of(value));
  }

  u32(value: number): this {
    this.align(4);
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return this.#add(bytes);
  }

  string(value: string): this {
    const bytes = Buffer.from(value);
    return this.u32(bytes.length).#add(bytes).byte(0);
  }

  signature(value: string): this {
    return this.byte(value.length).#add(Buffer.from(value)).byte(0);
  }

  /** An array: its length in bytes does not count the padding before the first element. */
  array(boundary: number, write: (writer: this) => void): this {
    this.u32(0);
    const header = this.#parts[this.#parts.length - 1]!;
    this.align(boundary);
    const start = this.#length;
    write(this);
    header.writeUInt32LE(this.#length - start);
    return this;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return this;
  }
}

/** The call that has systemd make a unit which lasts as long as its processes do. */
export function encodeStartTransientUnit(unit: string, properties: readonly DbusProperty[]): Buffer {
  const body = new DbusWriter().string(unit).string("fail");
  body.array(8, () => {
    for (const [name, type, value] of properties) {
      body.align(8).string(name).signature(type);
      if (type === "s") body.string(value);
      else if (type === "b") body.u32(value ? 1 : 0);
      else body.array(4, () => value.forEach((each) => void body.u32(each)));
    }
  });
  // No auxiliary units.
  body.array(8, () => undefined);
  const bytes = body.bytes();
  const header = new DbusWriter();
  header.byte("l".charCodeAt(0)).byte(1).byte(0).byte(1).u32(bytes.length).u32(1);
  header.array(8, () => {
    const field = (code: number, type: "o" | "s", value: string) =>
      header.align(8).byte(code).signature(type).string(value);
    field(1, "o", "/org/freedesktop/systemd1");
    field(2, "s", "org.freedesktop.systemd1.Manager");
    field(FIELD_MEMBER, "s", "StartTransientUnit");
    field(6, "s", "org.freedesktop.systemd1");
    header.align(8).byte(FIELD_SIGNATURE).signature("g").signature("ssa(sv)a(sa(sv))");
  });
  return Buffer.concat([header.align(8).bytes(), bytes]);
}

/** Takes what systemd sends, in any pieces. Throws on what is no message. */
export function createDbusReader(onMessage: (message: DbusMessage) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      if (rest[0] !== "l".charCodeAt(0)) throw new Error("systemd answered in another byte order");
      const bodyBytes = rest.readUInt32LE(4);
      const bodyStart = (HEADER_BYTES + rest.readUInt32LE(12) + 7) & ~7;
      if (bodyStart + bodyBytes > MAX_BYTES) throw new Error("systemd answered with too long a message");
      if (rest.length < bodyStart + bodyBytes) return;
      const fields = readFields(rest.subarray(0, bodyStart));
      const member = fields.get(FIELD_MEMBER);
      onMessage({
        kind: KINDS[rest[1]!] ?? "other",
        ...(member !== undefined && { member }),
        strings: readStrings(
          rest.subarray(bodyStart, bodyStart + bodyBytes),
          fields.get(FIELD_SIGNATURE) ?? "",
        ),
      });
      rest = rest.subarray(bodyStart + bodyBytes);
    }
  };
}

/** The header's fields of text, by code. */
function readFields(header: Buffer): Map<number, string> {
  const fields = new Map<number, string>();
  for (let at = HEADER_BYTES; at + 4 < header.length; at = (at + 7) & ~7) {
    const code = header[at]!;
    const type = String.fromCharCode(header[at + 2]!);
    // The signature of a field's value: one letter, with its length before and a NUL after it.
    at += 4;
    if (type === "u") at += 4;
    else if (type === "g") {
      fields.set(code, header.toString("latin1", at + 1, at + 1 + header[at]!));
      at += header[at]! + 2;
    } else {
      const length = header.readUInt32LE(at);
      fields.set(code, header.toString("utf8", at + 4, at + 4 + length));
      at += 4 + length + 1;
    }
  }
  return fields;
}

/** The texts of a body of texts and numbers, such as "uoss"; empty where it holds anything else. */
function readStrings(body: Buffer, signature: string): string[] {
  if (!/^[uso]*$/.test(signature)) return [];
  const strings: string[] = [];
  let at = 0;
  for (const type of signature) {
    at = (at + 3) & ~3;
    const value = body.readUInt32LE(at);
    at += 4;
    if (type === "u") continue;
    strings.push(body.toString("utf8", at, at + value));
    at += value + 1;
  }
  return strings;
}
