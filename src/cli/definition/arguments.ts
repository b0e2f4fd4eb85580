import { existsSync } from "node:fs";
import { posix } from "node:path";
import { SandboxError } from "../../kit/errors.js";
import { MIB, parseDurationMs, parseSizeBytes } from "../../kit/units.js";

/** A host file and its place in the sandbox's workspace. */
export interface Transfer {
  readonly hostPath: string;
  readonly path: string;
}

function wrong(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

/** Puts the option's name before what a parser complains about. */
function forOption<T>(option: string, parse: (value: string) => T): (value: string) => T {
  return (value) => {
    try {
      return parse(value);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      throw new SandboxError(error.code, `${option}: ${error.message}`, {
        ...(error.hint !== undefined && { hint: error.hint }),
      });
    }
  };
}

export const parseTimeoutMs = forOption("--timeout", parseDurationMs);

export const parseMemoryMb = forOption("--memory", (value) => {
  const bytes = parseSizeBytes(value);
  if (bytes >= MIB) return bytes / MIB;
  throw wrong(
    `${JSON.stringify(value)} is less than a mebibyte`,
    `Write the unit: ${Number.parseInt(value, 10)}mb.`,
  );
});

export function parseCpus(value: string): number {
  const cpus = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (cpus >= 0.01 && cpus <= 4096) return cpus;
  throw wrong(
    `--cpus: ${JSON.stringify(value)} is not a number of processors`,
    "Write a number such as 0.5 or 2.",
  );
}

export function parsePids(value: string): number {
  const pids = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (pids >= 1) return pids;
  throw wrong(
    `--pids: ${JSON.stringify(value)} is not a number of processes`,
    "Write a whole number such as 128.",
  );
}

/** Of `--workers` and the like: from 1 to `most`. */
export function parseNumberOf(option: string, most: number): (value: string) => number {
  return (value) => {
    const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    if (count >= 1 && count <= most) return count;
    throw wrong(
      `${option}: ${JSON.stringify(value)} is not a number from 1 to ${most}`,
      "Write a whole number such as 4.",
    );
  };
}

/** Adds one `NAME=value`; `NAME` alone takes the value of our own environment. */
export function parseEnv(
  value: string,
  previous: Readonly<Record<string, string>> = {},
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const equals = value.indexOf("=");
  const name = equals === -1 ? value : value.slice(0, equals);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw wrong(
      `--env: ${JSON.stringify(name.slice(0, 80))} is not the name of a variable`,
      "Write NAME=value.",
    );
  }
  const content = equals === -1 ? own[name] : value.slice(equals + 1);
  if (content === undefined) {
    throw wrong(`--env: ${name} is not set here`, `Write ${name}=value, or set it before you start skerry.`);
  }
  return { ...previous, [name]: content };
}

/** `FILE` or `FILE:path inside`; a file whose own name has a colon wins. */
export function parseInput(
  value: string,
  previous: readonly Transfer[] = [],
  exists: (path: string) => boolean = existsSync,
): Transfer[] {
  const colon = exists(value) ? -1 : value.lastIndexOf(":");
  const hostPath = colon === -1 ? value : value.slice(0, colon);
  const path = colon === -1 ? posix.basename(value) : value.slice(colon + 1);
  if (hostPath === "" || path === "") {
    throw wrong(
      `--input: ${JSON.stringify(value)} is not FILE or FILE:path`,
      "Write for example data.csv:in/data.csv.",
    );
  }
  return [...previous, { hostPath, path }];
}

/** `path inside` or `path inside:FILE`. */
export function parseOutput(value: string, previous: readonly Transfer[] = []): Transfer[] {
  const colon = value.indexOf(":");
  const path = colon === -1 ? value : value.slice(0, colon);
  const hostPath = colon === -1 ? posix.basename(value) : value.slice(colon + 1);
  if (hostPath === "" || path === "") {
    throw wrong(
      `--output: ${JSON.stringify(value)} is not PATH or PATH:file`,
      "Write for example out/plot.png:plot.png.",
    );
  }
  return [...previous, { hostPath, path }];
}

/** A directory of this host, and where it goes in the workspace. */
export interface Mount {
  readonly source: string;
  readonly target?: string;
  readonly mode?: "copy";
}

const MOUNT_MODES = ["copy", "ro", "rw"];

/** `DIR`, `DIR:path inside`, each with `:copy` behind; a directory whose own name has a colon wins. */
export function parseMount(
  value: string,
  previous: readonly Mount[] = [],
  exists: (path: string) => boolean = existsSync,
): Mount[] {
  const parts = exists(value) ? [value] : value.split(":");
  const mode = parts.length > 1 && MOUNT_MODES.includes(parts.at(-1)!) ? parts.pop() : undefined;
  const [source = "", target, ...more] = parts;
  if (source === "" || target === "" || more.length > 0) {
    throw wrong(
      `--mount: ${JSON.stringify(value.slice(0, 200))} is not DIR or DIR:path`,
      "Write for example . or src:project/src.",
    );
  }
  if (mode !== undefined && mode !== "copy") {
    throw new SandboxError(
      "UNSUPPORTED",
      `--mount: ${mode} is not available: a copy of the directory goes in`,
      {
        hint: `Write --mount ${source}, and bring changes back with: skerry apply`,
      },
    );
  }
  return [...previous, { source, ...(target !== undefined && { target }) }];
}

/** Collects the values of an option that may be repeated. */
export function parseAll(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

export function parseCount(option: string, value: string, least: 0 | 1): number {
  const count = /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (count >= least) return count;
  throw wrong(
    `${option}: ${JSON.stringify(value.slice(0, 40))} is not a number of records`,
    "Write a whole number such as 100.",
  );
}

/** How long a key is valid: longer than any timer waits. */
export function parseExpiryMs(value: string): number {
  const [, count, unit] = /^([1-9]\d{0,4})(m|h|d)$/.exec(value) ?? [];
  if (count !== undefined)
    return Number(count) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as "m" | "h" | "d"];
  throw wrong(
    `--expires: ${JSON.stringify(value.slice(0, 40))} is not a valid lifetime of a key`,
    "Write a whole number with a unit: 30m, 12h, 90d.",
  );
}

export function parsePort(option: string, value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw wrong(
    `${option}: ${JSON.stringify(value.slice(0, 40))} is not a port`,
    "Write a whole number between 1 and 65535, such as 8000.",
  );
}

/** `seq:hash`, as `audit verify` prints it. */
export function parseChainPoint(value: string): { seq: number; hash: string } {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(value) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw wrong(
    `--expect: ${JSON.stringify(value.slice(0, 100))} is not a head of the chain`,
    "Write what skerry audit verify printed as the head: a number, a colon, and 64 hexadecimal digits.",
  );
}
