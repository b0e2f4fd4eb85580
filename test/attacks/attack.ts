import type { Capabilities } from "../../src/backend.js";
import type { ExecutionResult, Limits, SandboxManager } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";

export type Group = "files" | "processes" | "network" | "resources" | "host file API" | "information";

/** What an attack brought. `observed` is what the host saw while it ran. */
export interface Outcome {
  readonly stdout: string;
  readonly reason?: string;
  readonly error?: string;
  readonly observed?: Readonly<Record<string, unknown>>;
}

/** What programs need to know about the host they attack; all of it harmless, planted for the run. */
export interface Facts {
  /** In every planted secret, path and name: found inside, something leaked. */
  readonly word: string;
  readonly stateDir: string;
  /** Where the host's own code, home directory and secret files are. */
  readonly repo: string;
  readonly home: string;
  readonly secretFile: string;
  readonly hostname: string;
  /** How many times as long everything takes here as on a real processor. */
  readonly slowness: number;
  /** Files that tell about the host's users: SHA-256 by path. */
  readonly aboutUsers: Readonly<Record<string, string>>;
  /**
   * The kernel inside is not the host's: what it shows of itself tells nothing about the host, and what it lets a
   * program set there reaches nothing of the host's. Attacks then look for the host's own, or from the host.
   */
  readonly ownKernel: boolean;
  /** Sandboxes have device nodes of their own, which takes root to make. */
  readonly ownDevices: boolean;
  readonly addresses: readonly string[];
  /** A process of the host with an unmistakable command line. */
  readonly decoyPid: number;
  readonly decoyMark: string;
  readonly tcpPort: number;
  readonly udpPort: number;
  readonly abstractName: string;
  readonly socketPaths: readonly string[];
  readonly shmKey: number;
  readonly sharedMemoryFile: string;
}

export interface Context {
  /** Printed by a program that succeeded. */
  readonly marker: string;
  readonly facts: Facts;
  /** False for the self-check, which runs without walls. */
  readonly isolated: boolean;
  readonly capabilities: Capabilities;
  readonly manager: SandboxManager;
  readonly sandbox: RunningSandbox;
  /** Another sandbox, gone after the attack. */
  newSandbox(limits?: Limits): Promise<RunningSandbox>;
  /** Runs Python with the prelude in any sandbox. */
  python(sandbox: RunningSandbox, code: string, timeoutMs?: number): Promise<ExecutionResult>;
  /** Python with the prelude as one argument, for commands that must not be warm. */
  prelude(code: string): string;
  onCleanUp(undo: () => unknown): void;
}

export interface Attack {
  /** What it does, as the rest of "An attacker …". */
  readonly name: string;
  readonly group: Group;
  /** Why it would matter, or how it works, when the name does not say. */
  readonly about?: string;
  /** Left out: python. */
  readonly language?: "python" | "bash";
  /** Runs inside. Python has `won()`, `FACTS` and the other names of prelude.ts. */
  readonly code?: string;
  /** Prepares the host. */
  readonly setUp?: (context: Context) => unknown;
  /** For attacks that need the host to act too: instead of `code`. */
  readonly run?: (context: Context) => Promise<Outcome>;
  /** Left out: the program printed the marker. */
  readonly succeeded?: (outcome: Outcome, context: Context) => boolean;
  /** Only a backend that claims this is expected to withstand it. */
  readonly needs?: keyof Capabilities;
  readonly limits?: Limits;
  /** Gets a sandbox of its own, since it leaves one unusable or full. */
  readonly fresh?: boolean;
  readonly timeoutMs?: number;
  /**
   * What it attacks is out of a cell's sight, so it is a program beside the cells. The same holds for the host's file API, since
   * the files of a cell are gone with it.
   */
  readonly besideCells?: boolean;
  /** An outcome that would be a success, where running without walls shows nothing. */
  readonly simulated?: Outcome;
  /** Why nothing can show that success would be noticed. */
  readonly cannotSelfCheck?: string;
}

/** Whether an attack got what it wanted. */
export function hasSucceeded(attack: Attack, outcome: Outcome, context: Context): boolean {
  if (attack.succeeded !== undefined) return attack.succeeded(outcome, context);
  return outcome.stdout.includes(context.marker);
}
