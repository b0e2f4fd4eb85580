/** The wire's vocabulary; guest/src/guest.h has the same. README.md in this folder describes each frame. */
export const WIRE_VERSION = 1;
export const HEADER_BYTES = 12;
export const MAX_PAYLOAD_BYTES = 256 * 1024;
/** Bytes we may send on one channel before the guest says it has room. */
export const INPUT_WINDOW_BYTES = 256 * 1024;
/** Bytes the guest may send on one output before we say we have room. */
export const OUTPUT_WINDOW_BYTES = 1024 * 1024;
/** Channels the guest opens have this bit set; ours never do. */
export const GUEST_CHANNEL_BIT = 0x80000000;

/** Frames we send. */
export const ToGuest = {
  exec: 0x01,
  data: 0x02,
  credit: 0x03,
  signal: 0x04,
  kill: 0x05,
  resize: 0x06,
  warm: 0x07,
  read: 0x08,
  write: 0x09,
  connect: 0x0a,
  listen: 0x0b,
  close: 0x0c,
  ping: 0x0d,
  drain: 0x0e,
} as const;

/** Frames the guest sends. */
export const FromGuest = {
  hello: 0x81,
  started: 0x82,
  stdout: 0x83,
  stderr: 0x84,
  exit: 0x85,
  failed: 0x86,
  room: 0x87,
  accepted: 0x88,
  end: 0x89,
  pong: 0x8a,
  warmState: 0x8b,
} as const;

/** The longest payload each frame of the guest may have. Anything else ends the sandbox. */
export const GUEST_PAYLOAD_LIMITS: ReadonlyMap<number, number> = new Map<number, number>([
  [FromGuest.hello, 12],
  [FromGuest.started, 5],
  [FromGuest.stdout, MAX_PAYLOAD_BYTES],
  [FromGuest.stderr, MAX_PAYLOAD_BYTES],
  [FromGuest.exit, 24],
  [FromGuest.failed, 4 + 256],
  [FromGuest.room, 4],
  [FromGuest.accepted, 4],
  [FromGuest.end, 0],
  [FromGuest.pong, 0],
  [FromGuest.warmState, 1 + 1024],
]);

export const Tag = {
  argument: 1,
  variable: 2,
  cwd: 3,
  flags: 4,
  size: 5,
  warm: 6,
  job: 7,
  path: 8,
  mode: 9,
  control: 10,
  cell: 11,
  file: 12,
} as const;

export const ExecFlag = { terminal: 1, single: 2, cells: 4 } as const;

export type Field = readonly [tag: number, value: string | Uint8Array];

/** Tag, length, bytes; one after the other. Strings with a NUL are the caller's to refuse. */
export function encodeFields(fields: readonly Field[]): Buffer {
  const values = fields.map(([, value]) => (typeof value === "string" ? Buffer.from(value) : value));
  const buffer = Buffer.allocUnsafe(values.reduce((sum, value) => sum + 5 + value.length, 0));
  let at = 0;
  for (const [index, value] of values.entries()) {
    buffer[at] = fields[index]![0];
    buffer.writeUInt32LE(value.length, at + 1);
    buffer.set(value, at + 5);
    at += 5 + value.length;
  }
  return buffer;
}

export function u16(...values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(values.length * 2);
  for (const [index, value] of values.entries()) buffer.writeUInt16LE(value, index * 2);
  return buffer;
}

export function u32(...values: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) buffer.writeUInt32LE(value, index * 4);
  return buffer;
}

/** One whole frame. */
export function encodeFrame(type: number, id: number, payload?: Uint8Array): Buffer {
  const length = payload?.length ?? 0;
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  writeHeader(frame, type, id, length);
  if (payload !== undefined) frame.set(payload, HEADER_BYTES);
  return frame;
}

/** What stands before a payload of this length. */
export function encodeHeader(type: number, id: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  writeHeader(header, type, id, length);
  return header;
}

function writeHeader(frame: Buffer, type: number, id: number, length: number): void {
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(id, 4);
  frame.writeUInt32LE(type, 8);
}
