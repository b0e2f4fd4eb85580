/** One struct sock_filter. */
export interface BpfInstruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

/** The opcodes a filter uses: only those the kernel can evaluate ahead, so plain allows cost no filter run. */
export const BPF = {
  LOAD: 0x20,
  AND: 0x54,
  JUMP: 0x05,
  JEQ: 0x15,
  JGT: 0x25,
  JGE: 0x35,
  RETURN: 0x06,
} as const;

/** Offsets into struct seccomp_data, and the halves of an argument, on a little-endian machine. */
export const DATA = {
  NR: 0,
  ARCH: 4,
  low: (index: number): number => 16 + 8 * index,
  high: (index: number): number => 20 + 8 * index,
} as const;

/** A place in the program: how many instructions there are from it to the end. */
export type Label = number;

const LONGEST_CONDITIONAL_JUMP = 255;

/**
 * Builds a program from its end towards its start. Jumps only go forward, so every target exists already and
 * its distance is known when the jump is written.
 */
export class BackwardAssembler {
  readonly #instructions: BpfInstruction[] = [];
  readonly #returns = new Map<number, Label>();

  get length(): number {
    return this.#instructions.length;
  }

  /** Where a verdict is returned; the nearest one is shared. */
  return(verdict: number): Label {
    return this.#returns.get(verdict) ?? this.#emitReturn(verdict);
  }

  /** Puts an instruction that continues at `next` before everything so far. */
  straight(code: number, k: number, next: Label): Label {
    if (next !== this.length) this.#emit(BPF.JUMP, this.length - next);
    return this.#emit(code, k);
  }

  /** Puts a conditional jump before everything so far. */
  branch(code: number, k: number, whenTrue: Label, whenFalse: Label): Label {
    if (whenTrue === whenFalse) return whenTrue;
    // The second hop, if any, lies between the branch and the first target: leave it room.
    const near = this.#within(LONGEST_CONDITIONAL_JUMP - 1, whenTrue);
    const otherwise = this.#within(LONGEST_CONDITIONAL_JUMP, whenFalse);
    return this.#emit(code, k, this.length - near, this.length - otherwise);
  }

  /** The program in running order, starting with what was emitted last. */
  finish(): BpfInstruction[] {
    return this.#instructions.toReversed();
  }

  /** `target`, or a hop to it when it is further away. A return is repeated rather than jumped to. */
  #within(distance: number, target: Label): Label {
    if (this.length - target <= distance) return target;
    const instruction = this.#instructions[target - 1]!;
    if (instruction.code !== BPF.RETURN) return this.#emit(BPF.JUMP, this.length - target);
    const nearest = this.return(instruction.k);
    return this.length - nearest <= distance ? nearest : this.#emitReturn(instruction.k);
  }

  #emitReturn(verdict: number): Label {
    const label = this.#emit(BPF.RETURN, verdict);
    this.#returns.set(verdict, label);
    return label;
  }

  #emit(code: number, k: number, jt = 0, jf = 0): Label {
    this.#instructions.push({ code, jt, jf, k });
    return this.length;
  }
}

/** The bytes seccomp(2) and `bwrap --seccomp` take. */
export function encodeBpf(program: readonly BpfInstruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, jt, jf, k }, i) => {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(jt, i * 8 + 2);
    bytes.writeUInt8(jf, i * 8 + 3);
    bytes.writeUInt32LE(k, i * 8 + 4);
  });
  return bytes;
}
