import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Kernel } from "./root-image.js";

/** Who runs a command in the machine; agent.mjs says how each comes to its process. */
export type Caller = "root" | "login" | "plain" | "service";

/** What a machine is made of. */
export interface MachineOptions {
  /** The directory that `ensureRootImage` returns. */
  readonly root: string;
  readonly kernel: Kernel;
  /** The disk with the checkout. */
  readonly work: string;
  /** Where the console's log is written. */
  readonly directory: string;
  readonly memoryMb: number;
  readonly bootSeconds: number;
}

export interface Order {
  readonly as: Caller;
  readonly command: string;
  readonly timeoutSeconds: number;
}

export interface Outcome {
  readonly status: number;
  readonly seconds: number;
  readonly error?: string;
}

type Event =
  | { readonly event: "ready"; readonly system: string; readonly kernel: string }
  | { readonly event: "output"; readonly line: string }
  | ({ readonly event: "exit" } & Outcome);

/** How much longer than its command an order may take: the files get another owner first. */
const ORDER_GRACE_SECONDS = 180;
const CONSOLE_LINES = 40;

/** One virtual machine. Its disks are as the images each time; whatever ends this process ends it. */
export class Machine {
  readonly #child: ChildProcess;
  readonly #console: string;
  readonly #events: AsyncIterator<Event>;
  #name = { system: "", kernel: "" };

  private constructor(options: MachineOptions) {
    this.#console = join(options.directory, `console-${options.kernel}.log`);
    const errors = openSync(this.#console, "a");
    const orders = ["-chardev", "stdio,id=orders,signal=off", "-serial", `file:${this.#console}`];
    this.#child = spawn("setpriv", ["--pdeathsig", "KILL", ...qemuCommand(options), ...orders], {
      stdio: ["pipe", "pipe", errors],
    });
    closeSync(errors);
    // That it could not start, or is gone, is seen at the end of its events.
    this.#child.on("error", () => undefined);
    this.#child.stdin!.on("error", () => undefined);
    this.#events = readEvents(this.#child);
  }

  static async boot(options: MachineOptions): Promise<Machine> {
    const machine = new Machine(options);
    try {
      const event = await machine.#next(options.bootSeconds, "it did not boot");
      if (event.event !== "ready") throw new Error(`expected a machine that is ready, not ${event.event}`);
      machine.#name = event;
      return machine;
    } catch (error) {
      await machine.close();
      throw error;
    }
  }

  /** As /etc/os-release and uname say. */
  get name(): { readonly system: string; readonly kernel: string } {
    return this.#name;
  }

  /** Runs a command in the checkout. Throws when the machine is gone or late; it is of no use then. */
  async run(order: Order, onLine: (line: string) => void): Promise<Outcome> {
    this.#child.stdin!.write(`${JSON.stringify(order)}\n`);
    const until = Date.now() + (order.timeoutSeconds + ORDER_GRACE_SECONDS) * 1000;
    for (;;) {
      const event = await this.#next((until - Date.now()) / 1000, "it did not answer");
      if (event.event === "exit") return event;
      if (event.event === "output") onLine(event.line);
    }
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async #next(seconds: number, complaint: string): Promise<Event> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(this.#failure(`${complaint} within ${Math.round(seconds)} seconds`));
      timer = setTimeout(fail, Math.max(0, seconds * 1000));
    });
    try {
      const { value, done } = await Promise.race([this.#events.next(), late]);
      if (done === true) throw this.#failure("the machine ended");
      return value as Event;
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(what: string): Error {
    const log = existsSync(this.#console) ? readFileSync(this.#console, "utf8") : "";
    const tail = log.trimEnd().split(/\r?\n/).slice(-CONSOLE_LINES).join("\n  | ");
    return new Error(`${what}; the end of its console:\n  | ${tail}`);
  }
}

/** A person's console: resolves when the machine is switched off. */
export async function openShell(options: MachineOptions): Promise<void> {
  const command = [...qemuCommand(options, "shell"), "-chardev", "null,id=orders", "-serial", "mon:stdio"];
  const child = spawn("setpriv", ["--pdeathsig", "KILL", ...command], { stdio: "inherit" });
  await once(child, "exit");
}

function qemuCommand(options: MachineOptions, use: "orders" | "shell" = "orders"): string[] {
  const { root, kernel, work, memoryMb } = options;
  const disk = (path: string, id: string) => [
    "-drive",
    `file=${path.replaceAll(",", ",,")},format=raw,if=none,id=${id},snapshot=on,cache=unsafe`,
    "-device",
    `virtio-blk-pci,drive=${id},serial=${id}`,
  ];
  const boot = [
    "root=/dev/vda rw console=ttyS0 panic=-1 systemd.show_status=false",
    use === "shell" ? "quiet systemd.mask=skerry-vm.service" : "systemd.getty_auto=no",
  ];
  return [
    "qemu-system-x86_64",
    ...acceleration(),
    ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none"],
    ...["-smp", "2", "-m", String(memoryMb)],
    ...["-kernel", join(root, `vmlinuz-${kernel}`), "-initrd", join(root, `initrd-${kernel}`)],
    ...["-append", boot.join(" ")],
    ...disk(join(root, "root.img"), "root"),
    ...disk(work, "work"),
    ...["-device", "virtio-rng-pci", "-device", "virtio-serial-pci"],
    ...["-device", "virtserialport,chardev=orders,name=skerry"],
  ];
}

/** A processor without virtualization may still show /dev/kvm, which then runs nothing that we need. */
function hasKvm(): boolean {
  const flags = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
  return existsSync("/dev/kvm") && /\b(?:vmx|svm)\b/.test(flags);
}

/** What runs the machines here, in words. */
export function acceleratorName(): string {
  return hasKvm() ? "KVM" : "an emulated processor";
}

function acceleration(): string[] {
  if (hasKvm()) return ["-accel", "kvm", "-cpu", "host"];
  // Debian 12's QEMU emulates cmpxchg16b in a way that kernels from 6.8 on do not survive.
  return ["-accel", "tcg,thread=multi", "-cpu", "Nehalem,-cx16"];
}

async function* readEvents(child: ChildProcess): AsyncGenerator<Event> {
  for await (const line of createInterface({ input: child.stdout! })) yield JSON.parse(line) as Event;
}
