/** How a sandbox's outermost process ended. */
export interface Ending {
  /** Its exit status, or minus the signal. Undefined: the launcher ended, and took it along. */
  readonly status: number | undefined;
  /** The first kilobytes of what it said on standard error. */
  readonly complaints: string;
}

export interface ReportHandlers {
  started(slot: number, pid: number): void;
  ended(slot: number, ending: Ending): void;
}

const HEADER_BYTES = 16;
const MAX_TEXT_BYTES = 4096;
const STARTED = 1;
const ENDED = 2;

/** Takes what guest/src/slots.c writes, in any pieces. Throws on anything it would not write. */
export function createReportReader(handlers: ReportHandlers): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= HEADER_BYTES) {
      const [kind, slot, value, length] = [
        rest.readUInt32LE(0),
        rest.readUInt32LE(4),
        rest.readInt32LE(8),
        rest.readUInt32LE(12),
      ];
      if (length > MAX_TEXT_BYTES) throw new Error(`The launcher reported ${length} bytes`);
      if (rest.length < HEADER_BYTES + length) return;
      // Whatever bubblewrap and the guest said is only text here: it cannot be taken for a report.
      const complaints = rest.toString("latin1", HEADER_BYTES, HEADER_BYTES + length).trim();
      rest = rest.subarray(HEADER_BYTES + length);
      if (kind === STARTED) handlers.started(slot, value);
      else if (kind === ENDED) handlers.ended(slot, { status: value, complaints });
      else throw new Error(`The launcher reported ${kind}`);
    }
  };
}
