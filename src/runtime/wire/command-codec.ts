import { SandboxError } from "../../kit/errors.js";
import { ExecFlag, encodeFields, type Field, Tag, u16, u32 } from "./frames.js";
import type { CellLimits, RunExit, RunRequest, WarmRequest } from "./runner.js";

/** What a command and a warm interpreter have in common. */
function commandFields(request: Pick<RunRequest, "argv" | "env" | "cwd">): Field[] {
  const fields: Field[] = request.argv.map((argument) => [Tag.argument, withoutNul(argument)]);
  for (const [name, value] of Object.entries(request.env ?? {})) {
    if (name === "" || name.includes("=")) {
      throw new SandboxError(
        "INVALID_ARGUMENT",
        `Not a name for an environment variable: ${JSON.stringify(name)}`,
      );
    }
    fields.push([Tag.variable, withoutNul(`${name}=${value}`)]);
  }
  if (request.cwd !== undefined) fields.push([Tag.cwd, withoutNul(request.cwd)]);
  return fields;
}

function withoutNul(text: string): string {
  if (!text.includes("\0")) return text;
  throw new SandboxError(
    "INVALID_ARGUMENT",
    "Arguments, variables and paths cannot contain a NUL character",
    {
      hint: "Put bytes into a file or into standard input.",
    },
  );
}

/** The payload that starts a command; `control` is the channel of its control socket. */
export function encodeRun(request: RunRequest, control?: number): Buffer {
  const fields = commandFields(request);
  if (request.terminal !== undefined) {
    fields.push([Tag.flags, Uint8Array.of(ExecFlag.terminal)]);
    fields.push([Tag.size, u16(request.terminal.rows, request.terminal.columns)]);
  }
  if (request.warm !== undefined) {
    fields.push([Tag.warm, u32(request.warm.id)], [Tag.job, request.warm.job]);
  }
  if (control !== undefined) fields.push([Tag.control, u32(control)]);
  if (request.cell !== undefined) {
    fields.push([Tag.cell, encodeCellLimits(request.cell.limits)]);
    const { file } = request.cell;
    if (file !== undefined) fields.push([Tag.path, withoutNul(file.path)], [Tag.file, file.content]);
  }
  return encodeFields(fields);
}

/** Six numbers of 64 bits, in the order of `struct cell_limits` in guest/src/guest.h. */
function encodeCellLimits(limits: CellLimits): Buffer {
  const { workspaceBytes, workspaceFiles, temporaryBytes, memoryBytes, processes, fileBytes } = limits;
  const values = [workspaceBytes, workspaceFiles, temporaryBytes, memoryBytes, processes, fileBytes];
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value = 0] of values.entries())
    bytes.writeBigUInt64LE(BigInt(Math.round(value)), index * 8);
  return bytes;
}

/** The payload that starts a warm interpreter. */
export function encodeWarm(request: WarmRequest): Buffer {
  const flags =
    (request.kind === "single" ? ExecFlag.single : 0) | (request.makesCells === true ? ExecFlag.cells : 0);
  return encodeFields([...commandFields(request), [Tag.flags, Uint8Array.of(flags)]]);
}

/** The payload that has a command fork itself: its control socket, and the order as it reads it there. */
export function encodeFreeze(control: number, order: Uint8Array): Buffer {
  return encodeFields([
    [Tag.control, u32(control)],
    [Tag.job, order],
  ]);
}

/** How a command ended; the caller has checked the length. */
export function decodeExit(payload: Buffer): RunExit {
  const signaled = payload[0] === 1;
  const value = payload[3]!;
  return {
    exitCode: signaled ? null : value,
    signal: signaled ? value : null,
    clean: payload[1] === 1,
    warm: payload[2] === 1,
    cpuTimeMs: Number(payload.readBigUInt64LE(4) / 1000n),
    memoryKb: Number(payload.readBigUInt64LE(12)),
  };
}
