import { BPF, type BpfInstruction } from "../../src/runtime/backends/linux/seccomp/bpf.js";

/** One system call as a filter sees it. */
export interface SeccompCall {
  readonly auditArch: number;
  readonly nr: number;
  /** Six unsigned 64-bit words; missing ones are 0. */
  readonly args?: readonly bigint[];
}

/** Splits a compiled filter into its instructions. */
export function decodeBpf(bytes: Buffer): BpfInstruction[] {
  return Array.from({ length: bytes.length / 8 }, (_, i) => ({
    code: bytes.readUInt16LE(i * 8),
    jt: bytes.readUInt8(i * 8 + 2),
    jf: bytes.readUInt8(i * 8 + 3),
    k: bytes.readUInt32LE(i * 8 + 4),
  }));
}

/** Runs a compiled filter on one call as the kernel would, and returns the SECCOMP_RET_* value. For tests. */
export function simulateSeccomp(program: readonly BpfInstruction[], call: SeccompCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.nr, 0);
  data.writeUInt32LE(call.auditArch, 4);
  call.args?.forEach((word, i) => {
    data.writeBigUInt64LE(word, 16 + 8 * i);
  });
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const { code, jt, jf, k } = program[at]!;
    switch (code) {
      case BPF.LOAD:
        accumulator = data.readUInt32LE(k);
        break;
      case BPF.AND:
        accumulator = (accumulator & k) >>> 0;
        break;
      case BPF.JUMP:
        at += k;
        break;
      case BPF.JEQ:
        at += accumulator === k ? jt : jf;
        break;
      case BPF.JGT:
        at += accumulator > k ? jt : jf;
        break;
      case BPF.JGE:
        at += accumulator >= k ? jt : jf;
        break;
      case BPF.RETURN:
        return k;
      default:
        throw new Error(`unexpected opcode ${code} at ${at}`);
    }
  }
  throw new Error("the program ends without a verdict");
}
