/** What the first bytes of a TLS client say. */
export type ClientHello =
  | { readonly kind: "incomplete" }
  | { readonly kind: "invalid"; readonly why: string }
  | { readonly kind: "hello"; readonly serverName: string | undefined };

/** A ClientHello beyond this is none: those with post-quantum keys take about 2 KiB. */
export const MAX_CLIENT_HELLO_BYTES = 16 * 1024;

const RECORD_HANDSHAKE = 22;
const RECORD_HEADER_BYTES = 5;
const MAX_RECORD_BYTES = 16 * 1024;
const MAX_RECORDS = 32;
const HANDSHAKE_CLIENT_HELLO = 1;
const HANDSHAKE_HEADER_BYTES = 4;
const EXTENSION_SERVER_NAME = 0;

const INCOMPLETE = { kind: "incomplete" } as const;

function invalid(why: string) {
  return { kind: "invalid", why } as const;
}

/** True for bytes that can only be a TLS handshake record, as far as they go. */
export function looksLikeTls(bytes: Buffer): boolean {
  return bytes[0] === RECORD_HANDSHAKE && (bytes.length < 2 || bytes[1] === 3);
}

/** Reads the name that a TLS client asks for. The message may be cut into several records. */
export function readClientHello(bytes: Buffer): ClientHello {
  const message = joinRecords(bytes);
  if (!Buffer.isBuffer(message)) return message;
  if (message.length < HANDSHAKE_HEADER_BYTES) return tooLong(bytes) ?? INCOMPLETE;
  if (message[0] !== HANDSHAKE_CLIENT_HELLO) return invalid("the first TLS message is no ClientHello");
  const length = messageBytes([...message.subarray(0, HANDSHAKE_HEADER_BYTES)]);
  if (length > MAX_CLIENT_HELLO_BYTES) return invalid("the TLS ClientHello is too long");
  if (message.length < length) return tooLong(bytes) ?? INCOMPLETE;
  // What follows would be read as part of the hello by some servers and not by others.
  if (message.length > length) return invalid("the TLS ClientHello does not end with its record");
  try {
    return {
      kind: "hello",
      serverName: readServerName(new Cursor(message.subarray(HANDSHAKE_HEADER_BYTES))),
    };
  } catch (error) {
    if (error instanceof Malformed) return invalid(error.message);
    throw error;
  }
}

function tooLong(bytes: Buffer) {
  return bytes.length > MAX_CLIENT_HELLO_BYTES ? invalid("the TLS ClientHello is too long") : undefined;
}

/** The payload of the handshake records that are there; it may end in the middle of one. */
function joinRecords(bytes: Buffer): Buffer | ClientHello {
  const parts: Buffer[] = [];
  const head: number[] = [];
  let at = 0;
  let joined = 0;
  while (bytes.length - at >= RECORD_HEADER_BYTES) {
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== RECORD_HANDSHAKE || bytes[at + 1] !== 3) return invalid("a TLS record of another kind");
    if (length === 0 || length > MAX_RECORD_BYTES) return invalid("a TLS record of a wrong length");
    const part = bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + length);
    parts.push(part);
    // A client that sends it in tiny pieces only wants to keep us reading.
    if (parts.length > MAX_RECORDS) return invalid("the TLS ClientHello is cut into too many records");
    joined += part.length;
    head.push(...part.subarray(0, HANDSHAKE_HEADER_BYTES - head.length));
    at += RECORD_HEADER_BYTES + length;
    // Early data and other records may follow the message.
    if (head.length === HANDSHAKE_HEADER_BYTES && joined >= messageBytes(head)) break;
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

function messageBytes([, high = 0, middle = 0, low = 0]: readonly number[]): number {
  return HANDSHAKE_HEADER_BYTES + (high << 16) + (middle << 8) + low;
}

class Malformed extends Error {}

/** Reads vectors with a length in front, never past the end. */
class Cursor {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (this.#bytes.length - this.#at < length) throw new Malformed("the TLS ClientHello is malformed");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  number(bytes: 1 | 2): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  vector(lengthBytes: 1 | 2): Cursor {
    return new Cursor(this.take(this.number(lengthBytes)));
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#at);
  }
}

function readServerName(hello: Cursor): string | undefined {
  hello.take(2 + 32);
  hello.vector(1); // session
  hello.vector(2); // cipher suites
  hello.vector(1); // compression methods
  if (hello.atEnd) return undefined;
  const extensions = hello.vector(2);
  if (!hello.atEnd) throw new Malformed("the TLS ClientHello is malformed");
  let name: string | undefined;
  while (!extensions.atEnd) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type !== EXTENSION_SERVER_NAME) continue;
    if (name !== undefined) throw new Malformed("the TLS ClientHello names two servers");
    name = readNameList(content);
  }
  return name;
}

function readNameList(extension: Cursor): string {
  const names = extension.vector(2);
  if (names.number(1) !== 0) throw new Malformed("the TLS ClientHello names its server in an unknown way");
  const name = names.vector(2).rest();
  if (!names.atEnd || !extension.atEnd) throw new Malformed("the TLS ClientHello names two servers");
  if (name.length === 0 || name.some((byte) => byte <= 0x20 || byte >= 0x7f)) {
    throw new Malformed("the TLS ClientHello has an invalid server name");
  }
  return name.toString("latin1");
}
