import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { SandboxError } from "../../../../kit/errors.js";
import { createDeferred, type Deferred, type GuestStreams } from "../../../wire/index.js";
import { encodeLaunchRequest, type LaunchRequest } from "./launch-request.js";
import { createReportReader, type Ending } from "./launcher-reports.js";

/** How many sandboxes a launcher starts. The first one starts one: a process that needs no second pays for none. */
const SLOTS = 16;
/** How long a launcher waits for the next sandbox when there is none left. */
const IDLE_MS = 2000;

/** One sandbox behind a launcher. */
export interface Launched extends GuestStreams {
  /** Its outermost process. Undefined: it ended before it began. */
  readonly pid: Promise<number | undefined>;
  /** Resolves when that process is gone. */
  readonly ended: Promise<Ending>;
  /** Kills it, if it is not gone; `ended` tells when that is done. */
  kill(): void;
}

/** Ends a sandbox: with its outermost process goes the first one inside, and with that the whole namespace. */
export async function endLaunched(launched: Launched): Promise<void> {
  launched.kill();
  await launched.ended;
}

/** Why the sandbox did not start. Later on an end is one like any other, and needs no explanation. */
export function startFailure(
  { ended }: Launched,
  isStarting: () => boolean,
  explain: (ending: Ending) => SandboxError,
): Promise<SandboxError> {
  return new Promise((resolve) => {
    ended.then((ending) => {
      if (isStarting()) resolve(explain(ending));
    });
  });
}

/** Starts sandboxes through small processes that fork for us: to fork Node itself costs milliseconds. */
export class Launchers {
  readonly #idleMs: number;
  #current: Launcher | undefined;
  #running = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(idleMs = IDLE_MS) {
    this.#idleMs = idleMs;
  }

  /** Starts bubblewrap; `program` is the guest's own binary. */
  async launch(program: string, request: LaunchRequest): Promise<Launched> {
    clearTimeout(this.#idle);
    if (this.#current?.hasRoom !== true) {
      const slots = this.#current === undefined ? 1 : SLOTS;
      const child = spawnLauncher(program, slots);
      if (child.pid === undefined) throw cannotStart((await once(child, "error"))[0]);
      this.#current = new Launcher(child);
    }
    const launched = this.#current.launch(request);
    this.#running++;
    launched.ended.then(() => this.#ended());
    return launched;
  }

  #ended(): void {
    this.#running--;
    if (this.#running > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#current?.release();
      this.#current = undefined;
    }, this.#idleMs).unref();
  }
}

interface Slot {
  readonly wire: Socket;
  readonly pid: Deferred<number | undefined>;
  readonly ended: Deferred<Ending>;
}

/** One process of guest/src/slots.c. It ends with its last sandbox once no slot is left, and with us. */
class Launcher {
  readonly #control: Socket;
  readonly #wires: readonly Socket[];
  readonly #running = new Map<number, Slot>();
  #next = 0;

  constructor(child: ChildProcess) {
    const [, , , control, ...wires] = child.stdio as unknown as Socket[];
    this.#control = control!;
    this.#wires = wires;
    // What only waits must not keep our process alive.
    for (const handle of [child, ...wires, this.#control]) handle.unref();
    for (const wire of wires) wire.on("error", () => undefined);
    child.on("error", () => undefined);
    const read = createReportReader({
      started: (slot, pid) => this.#running.get(slot)?.pid.resolve(pid),
      ended: (slot, ending) => this.#ended(slot, ending),
    });
    this.#control
      .on("data", (chunk: Buffer) => {
        try {
          read(chunk);
        } catch (error) {
          this.#control.destroy(error as Error);
        }
      })
      .on("error", () => undefined)
      .on("close", () => this.#gone());
  }

  get hasRoom(): boolean {
    return this.#next < this.#wires.length;
  }

  /** The request goes through the wire: the process list and the disk see nothing. */
  launch(request: LaunchRequest): Launched {
    const number = this.#next++;
    const wire = this.#wires[number]!;
    const slot: Slot = { wire, pid: createDeferred(), ended: createDeferred() };
    this.#running.set(number, slot);
    wire.ref();
    this.#control.ref();
    wire.write(encodeLaunchRequest(request));
    return {
      toGuest: wire,
      fromGuest: wire,
      pid: slot.pid.promise,
      ended: slot.ended.promise,
      kill: () => {
        if (this.#running.has(number)) this.#control.write(Uint8Array.of(number));
      },
    };
  }

  /** Releases the unused slots. */
  release(): void {
    for (const wire of this.#wires.slice(this.#next)) wire.destroy();
    this.#next = this.#wires.length;
  }

  #ended(number: number, ending: Ending): void {
    const slot = this.#running.get(number);
    if (slot === undefined) return;
    this.#running.delete(number);
    if (this.#running.size === 0) this.#control.unref();
    slot.pid.resolve(undefined);
    slot.ended.resolve(ending);
  }

  /** Its sandboxes die with it; what they had said is not waited for. */
  #gone(): void {
    this.release();
    for (const [number, { wire }] of this.#running) {
      wire.destroy();
      this.#ended(number, { status: undefined, complaints: "" });
    }
  }
}

/** A group of its own, so that a Ctrl-C on our terminal reaches us only. */
function spawnLauncher(program: string, slots: number): ChildProcess {
  const sockets = Array.from({ length: 1 + slots }, () => "pipe" as const);
  try {
    return spawn(program, ["--launch", String(slots)], {
      stdio: ["ignore", "ignore", "ignore", ...sockets],
      env: {},
      cwd: "/",
      detached: true,
    });
  } catch (error) {
    throw cannotStart(error);
  }
}

function cannotStart(cause: unknown): SandboxError {
  return new SandboxError("SANDBOX_START_FAILED", "The launcher cannot be started", { cause });
}
