import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Caller, Machine, type MachineOptions, openShell } from "./machine.js";
import { ensureRootImage, KERNELS, type Kernel, makeWorkImage } from "./root-image.js";

rmSync(import.meta.filename);
const CHECKOUT = resolve(import.meta.dirname, "../..");
const SOURCES = join(CHECKOUT, "test/vm");
const IMAGES = join(CHECKOUT, "build/vm");
const CALLERS: readonly Caller[] = ["root", "login", "plain", "service"];

const startedAt = Date.now();
const say = (text: string) =>
  console.log(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)}s ${text}`);

const { values: options } = parseArgs({
  options: {
    checkout: { type: "string", default: CHECKOUT },
    exec: { type: "string" },
    as: { type: "string", default: "root" },
    kernel: { type: "string", default: "6.12" },
    timeout: { type: "string", default: "1800" },
    shell: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
  },
});

async function main(): Promise<number> {
  const kernel = options.kernel as Kernel;
  if (!KERNELS.includes(kernel)) throw new Error(`--kernel is one of ${KERNELS.join(", ")}`);
  const as = options.as as Caller;
  if (!CALLERS.includes(as)) throw new Error(`--as is one of ${CALLERS.join(", ")}`);
  const root = await ensureRootImage({ directory: IMAGES, sources: SOURCES });
  const directory = join(IMAGES, `run.${process.pid}`);
  mkdirSync(directory);
  try {
    const work = join(directory, "work.img");
    await makeWorkImage(SOURCES, resolve(options.checkout), work);
    const machine: MachineOptions = { root, kernel, work, directory, memoryMb: 3072, bootSeconds: 600 };
    if (options.shell) return openShell(machine).then(() => 0);
    return await execute(machine, as, options.exec ?? "true");
  } finally {
    if (options.keep) say(`kept: ${directory}`);
    else rmSync(directory, { recursive: true, force: true });
  }
}

async function execute(options_: MachineOptions, as: Caller, command: string): Promise<number> {
  say("booting");
  const machine = await Machine.boot(options_);
  try {
    say(`ready: ${machine.name.system}, ${machine.name.kernel}`);
    const order = { as, command, timeoutSeconds: Number(options.timeout) };
    const { status, seconds, error } = await machine.run(order, say);
    say(`status ${status} after ${seconds} s${error === undefined ? "" : `: ${error}`}`);
    return status;
  } finally {
    await machine.close();
  }
}

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message);
  return 1;
});
