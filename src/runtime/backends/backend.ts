import type { ErrorCode } from "../../kit/errors.js";
import type { Runner } from "../wire/index.js";
import type { Isolation } from "./isolation.js";

/** What a backend can enforce on this host. The manager refuses a limit or a policy that needs more. */
export interface Capabilities {
  /** Is there a boundary that hostile code cannot cross? `auto` only chooses backends where this is true. */
  readonly isolates: boolean;
  /** How strong that boundary is. Left out: `process`, the weakest that is one. */
  readonly isolation?: Exclude<Isolation, "none">;
  /** `none`: no network at all. `all-or-nothing`: the host's network. `per-host`: by domain. */
  readonly network: "none" | "all-or-nothing" | "per-host";
  readonly memoryLimit: boolean;
  /** Reaching that limit ends the sandbox as a whole, not one of its processes. */
  readonly endsAtMemoryLimit?: boolean;
  readonly cpuLimit: boolean;
  readonly pidsLimit: boolean;
  readonly fileSizeLimit: boolean;
  readonly openFilesLimit: boolean;
  /** Bytes and inodes of the workspace. */
  readonly workspaceLimit: boolean;
  readonly terminal: boolean;
  /** The workspace is a directory of this host. */
  readonly sharedWorkspace: boolean;
  /** Every process inside dies when our process is killed. */
  readonly diesWithHost: boolean;
  /** Programs can have cells of their own inside a sandbox that was made for that. */
  readonly cells?: boolean;
}

/** Limits of one sandbox. Left out: the backend's own default, or none where it cannot enforce one. */
export type Limits = Omit<LimitsConfig, "outputBytes">;

/** Host paths beyond the defaults; globs are allowed. */
export interface FilesystemRules {
  readonly allowRead: readonly string[];
  readonly allowWrite: readonly string[];
  readonly denyRead: readonly string[];
  readonly denyWrite: readonly string[];
}

/** A session's directory on the host; `workspace/` in it holds the files. A backend may keep its own beside that. */
export interface SessionDirectory {
  readonly path: string;
  /** The user and group that own the files: the sandbox runs as them. Undefined: as ourselves. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

export interface CreateSpec {
  /** Unique per sandbox, safe as a file name. */
  readonly id: string;
  readonly sessionKey: string;
  /** The session's files are not needed after this sandbox. */
  readonly ephemeral: boolean;
  readonly directory: SessionDirectory;
  /** What is to be enforced: what was asked for, and defaults where this backend can enforce them. */
  readonly limits: Limits;
  /** The part of it that was asked for. */
  readonly requestedLimits: Limits;
  readonly filesystem: FilesystemRules;
  /** Programs in it can have cells of their own. Asked of backends that have the capability only. */
  readonly cells?: boolean;
  readonly signal?: AbortSignal;
}

/** What a sandbox uses at one moment, counted from outside it. Left out: this backend or host cannot tell. */
export interface ResourceUsage {
  /** Of everything that ran inside since the start. Never falls. */
  readonly cpuTimeMs: number;
  /** Without files in memory that the kernel can drop at any time. */
  readonly memoryBytes: number;
  readonly memoryLimitBytes?: number;
  /** Processes and threads. */
  readonly pids?: number;
  readonly pidsLimit?: number;
  /** How many CPUs it may use at once; left out: every one of the host. */
  readonly cpus?: number;
  /** Since the start; left out: there is no network inside. */
  readonly networkReceivedBytes?: number;
  readonly networkSentBytes?: number;
}

/** Something a program tried and the walls refused. The path is the program's own words: for people, not for decisions. */
export interface Violation {
  readonly at: Date;
  /** In one line, such as "deny openat /etc/passwd". */
  readonly what: string;
}

/** One running sandbox of a backend. */
export interface Instance {
  readonly id: string;
  readonly runner: Runner;
  /** Where the workspace is for the programs inside. */
  readonly guestWorkspace: string;
  /** Where this host reaches the workspace's files; undefined: only through the runner. */
  readonly hostWorkspace: string | undefined;
  /** True: the session's directory was only mounted over, and nothing inside could ever write to it. */
  readonly directoryUntouched?: boolean;
  /** Environment every command starts from. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Where the guest's warm runners are for the programs inside. */
  readonly guestRuntime: string;
  /**
   * Starts what programs of this language run in, where languages have images of their own; they share the workspace.
   * Called before the first program of each language. Left out: all run in the same place.
   */
  prepareLanguage?(language: string): Promise<void>;
  /** The image that programs come from, or those of a language; left out: they are this host's. */
  imageOf?(language?: string): string;
  /**
   * How many processes the kernel has killed here for memory; undefined: this backend cannot tell. `wasKilled`: a
   * command has just been, so one that hears of it late may wait a moment (200 ms).
   */
  memoryKills(wasKilled?: boolean): Promise<number | undefined>;
  /** What it uses now; undefined: nothing can be told, or it has ended. Never throws. */
  usage?(): Promise<ResourceUsage | undefined>;
  /** What was refused since it was last asked; left out: this backend does not see it. Never throws. */
  violations?(): Promise<readonly Violation[]>;
  /** Kills everything and removes every trace. Idempotent, never throws for what is already gone. */
  destroy(): Promise<void>;
}

export interface ProbeOptions {
  /** Also what takes a moment to find out, such as versions. */
  readonly thorough?: boolean;
}

export interface Probe {
  readonly available: boolean;
  /** Of the error when this very backend is asked for and cannot run; left out: BACKEND_UNAVAILABLE. */
  readonly code?: ErrorCode;
  readonly version?: string;
  /** Why not, or what is weaker than it could be. */
  readonly problems: readonly { readonly what: string; readonly remedy: string }[];
  /** What this host lets the backend enforce. */
  readonly capabilities: Capabilities;
}

/** One isolation technology. Backends enforce; they never decide. */
export interface SandboxBackend {
  readonly name: string;
  /** Says whether this host can run us and what it can enforce. Never throws, never changes the host. */
  probe(options?: ProbeOptions): Promise<Probe>;
  create(spec: CreateSpec): Promise<Instance>;
  /**
   * Makes a used sandbox into another one, for a backend whose sandboxes are dear: every process of it has ended, its
   * files and everything that the kernel kept for it are gone, and that was checked. Takes `used` over: when it throws,
   * `used` is destroyed. Left out: this backend makes a new one instead.
   */
  recycle?(used: Instance, spec: CreateSpec): Promise<Instance>;
  /** Removes what a crashed process left behind, found by label. Resolves to how many. */
  reap(): Promise<number>;
}

/** What a backend is built from; the directory is where it may keep state. */
export interface BackendContext {
  readonly stateDir: string;
  readonly options: unknown;
}

export type BackendFactory = (context: BackendContext) => SandboxBackend;

export interface LimitsConfig {
  readonly memoryMb?: number;
  /** In cores: 0.5 is half of one. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly openFiles?: number;
  readonly fileSizeMb?: number;
  readonly workspaceMb?: number;
  readonly workspaceInodes?: number;
  readonly tmpMb?: number;
  /** Bytes of standard output and standard error together, per execution. */
  readonly outputBytes?: number;
}
