/** Goes up when what is counted changes, so that cached modules are rebuilt. */
export const METERING_VERSION = 1;

/**
 * Adds a counter to a WebAssembly module: it goes up by one at every function's entry and every turn of a loop, so that
 * work can be limited by a number that is the same on every machine. A parser's own count of steps does not tell what a
 * step costs: one that recovers from an error may go through everything it has read.
 */
export function withMeter(binary: Uint8Array, exportName: string): Uint8Array {
  const reader = new Reader(binary);
  const out = new Writer(binary.length * 2);
  out.add(reader.take(8));
  let globals = 0;
  let own: number | undefined;
  while (!reader.done) {
    const id = reader.byte();
    const body = new Reader(reader.take(reader.number()));
    const content = new Writer(body.bytes.length * 2 + 64);
    if (id === IMPORTS) globals += countImportedGlobals(new Reader(body.bytes));
    if (id === GLOBALS) {
      own = body.number();
      globals += own;
      content.add(encode(own + 1));
      content.add(body.rest());
      // A variable 32-bit integer that begins at zero.
      content.add([I32, 1, I32_CONST, 0, END]);
    } else if (id === EXPORTS) {
      if (own === undefined) throw new Error("a module without globals of its own");
      const name = new TextEncoder().encode(exportName);
      content.add(encode(body.number() + 1));
      content.add(body.rest());
      content.add([...encode(name.length), ...name, 3, ...encode(globals)]);
    } else if (id === CODE) meterCode(body, globals, content);
    else content.add(body.rest());
    out.add([id]);
    out.addSized(content);
  }
  return out.written;
}

const [IMPORTS, GLOBALS, EXPORTS, CODE] = [2, 6, 7, 10];
const [I32, END, LOOP, I32_CONST] = [0x7f, 0x0b, 0x03, 0x41];

function countImportedGlobals(reader: Reader): number {
  let found = 0;
  for (let left = reader.number(); left > 0; left--) {
    reader.take(reader.number());
    reader.take(reader.number());
    const kind = reader.byte();
    if (kind === 0) reader.number();
    else if (kind === 1) {
      reader.byte();
      skipLimits(reader);
    } else if (kind === 2) skipLimits(reader);
    else if (kind === 3) {
      reader.take(2);
      found += 1;
    } else throw new Error(`import of kind ${kind}`);
  }
  return found;
}

function skipLimits(reader: Reader): void {
  const flags = reader.byte();
  reader.number();
  if ((flags & 1) === 1) reader.number();
}

function meterCode(reader: Reader, global: number, out: Writer): void {
  const index = encode(global);
  const count = [0x23, ...index, I32_CONST, 1, 0x6a, 0x24, ...index];
  const functions = reader.number();
  out.add(encode(functions));
  for (let left = functions; left > 0; left--) {
    const body = new Reader(reader.take(reader.number()));
    for (let groups = body.number(); groups > 0; groups--) {
      body.number();
      body.byte();
    }
    // A loop is three bytes or more, and eight or so are put behind it.
    const code = new Writer(body.bytes.length * 6 + 64);
    code.add(body.bytes.subarray(0, body.at));
    code.add(count);
    let copied = body.at;
    while (!body.done) {
      const opcode = body.byte();
      skipImmediates(body, opcode);
      if (opcode !== LOOP) continue;
      code.add(body.bytes.subarray(copied, body.at));
      code.add(count);
      copied = body.at;
    }
    code.add(body.bytes.subarray(copied));
    out.addSized(code);
  }
}

/** Steps over what follows an instruction's first byte. */
function skipImmediates(reader: Reader, opcode: number): void {
  // block, loop, if: a type; a negative number or an index.
  if (opcode >= 0x02 && opcode <= 0x04) reader.number();
  else if (opcode === 0x0c || opcode === 0x0d || opcode === 0x10) reader.number();
  else if (opcode === 0x0e) for (let left = reader.number() + 1; left > 0; left--) reader.number();
  else if (opcode === 0x11) {
    reader.number();
    reader.number();
  } else if (opcode >= 0x20 && opcode <= 0x26) reader.number();
  else if (opcode >= 0x28 && opcode <= 0x3e) {
    reader.number();
    reader.number();
  } else if (opcode === 0x3f || opcode === 0x40) reader.byte();
  else if (opcode === I32_CONST || opcode === 0x42) reader.number();
  else if (opcode === 0x43) reader.take(4);
  else if (opcode === 0x44) reader.take(8);
  else if (opcode === 0xfc) skipBulk(reader, reader.number());
  else if (!isPlain(opcode)) throw new Error(`instruction 0x${opcode.toString(16)}`);
}

/** Instructions that nothing follows. */
function isPlain(opcode: number): boolean {
  return (
    opcode <= 0x01 ||
    opcode === 0x05 ||
    opcode === END ||
    opcode === 0x0f ||
    opcode === 0x1a ||
    opcode === 0x1b ||
    (opcode >= 0x45 && opcode <= 0xc4)
  );
}

function skipBulk(reader: Reader, operation: number): void {
  // Conversions that do not trap have nothing behind them; copying and filling memory has its indices.
  const operands = operation <= 7 ? 0 : [8, 10, 12, 14].includes(operation) ? 2 : 1;
  if (operation > 17) throw new Error(`instruction 0xfc ${operation}`);
  for (let left = operands; left > 0; left--) reader.number();
}

class Reader {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw new Error("a module that ends early");
    this.at += 1;
    return byte;
  }

  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new Error("a module that ends early");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  rest(): Uint8Array {
    return this.take(this.bytes.length - this.at);
  }

  /** A number in LEB128, or one that is stepped over: then its value does not matter. */
  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
  }
}

class Writer {
  private readonly bytes: Uint8Array;
  private length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  add(more: ArrayLike<number>): void {
    this.bytes.set(more, this.length);
    this.length += more.length;
  }

  addSized(content: Writer): void {
    this.add(encode(content.length));
    this.add(content.written);
  }

  get written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

function encode(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) | 0x80);
  }
}
