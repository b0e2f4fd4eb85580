import { systemCode } from "../../../kit/errors.js";
import type { RelativePath } from "../../workspace/index.js";
import { fileError } from "../../workspace/index.js";
import { notAListing, scriptFailure, toolsMissing, tooSlow } from "./failures.js";
import { type FoundEntry, Listing, type ListingLimits } from "./listing.js";
import { type Inside, type InsideCommand, type InsideEnd, runInside } from "./run-inside.js";
import { CLAIM, type FindKind, list, look, MAKE, MOVE, PROBE_FIND, REMOVE } from "./scripts.js";

/** How long a command may take; removing a large tree is work. */
export const COMMAND_MS = 30_000;
const REMOVE_MS = 300_000;

/** What the wire has no frame for, done by small commands inside. Paths go in as arguments, one name each. */
export class FileCommands {
  #find: Promise<FindKind> | undefined;

  /** No command gets more time than `patienceMs`. */
  constructor(
    private readonly inside: Inside,
    private readonly patienceMs: number,
  ) {}

  /** What stands at the path, itself and not what it points to. */
  async look(path: RelativePath): Promise<FoundEntry> {
    const listing = new Listing({ maxEntries: 1, maxDepth: 1 });
    const leaf = path.components.at(-1) ?? ".";
    const end = await this.#run(look(await this.findKind()), {
      walk: path.components.slice(0, -1),
      arguments: [leaf],
      take: (chunk) => listing.push(chunk),
    });
    const [found] = listing.found;
    if (end.exitCode === 0 && found !== undefined) return found;
    // It was there for the shell, and gone for find.
    if (end.exitCode === 0 || end.exitCode === 1) throw fileError({ code: "ENOENT" }, path.text);
    throw end.reason === "enough" ? notAListing() : scriptFailure(end, path);
  }

  /** Everything beneath a directory, in no order. Truncated: something was left out, or took too long. */
  async list(
    path: RelativePath,
    limits: ListingLimits,
    timeoutMs = COMMAND_MS,
  ): Promise<{
    readonly found: readonly FoundEntry[];
    readonly truncated: boolean;
    /** Nothing was left out but what lies deeper. */
    readonly isOnlyTooDeep: boolean;
  }> {
    const listing = new Listing(limits);
    const end = await this.#run(list(await this.findKind()), {
      walk: path.components,
      arguments: [String(limits.maxDepth)],
      timeoutMs,
      take: (chunk) => listing.push(chunk),
    });
    // 1: find says that it could not look everywhere.
    if (end.reason === "exited" && end.exitCode !== null && end.exitCode > 1) throw scriptFailure(end, path);
    const { found } = listing;
    if (end.reason === "timeout" && found.length === 0) throw tooSlow(path.text);
    const isCut = ({ type, path: inner }: FoundEntry) =>
      type === "directory" && limits.maxDepth > 1 && inner.split("/").length === limits.maxDepth;
    const isIncomplete = listing.truncated || end.exitCode !== 0;
    const isTooDeep = found.some(isCut);
    return { found, truncated: isIncomplete || isTooDeep, isOnlyTooDeep: !isIncomplete && isTooDeep };
  }

  /** Makes the first `count` directories of the path, or all of them. */
  async make(path: RelativePath, count = path.components.length): Promise<void> {
    await this.#do(MAKE, path, { walk: path.components.slice(0, count), make: true, arguments: [] });
  }

  /** Makes an empty file where nothing is, and the directories above it. */
  async claim(path: RelativePath): Promise<void> {
    const [walk, leaf] = split(path);
    await this.#do(CLAIM, path, { walk, make: true, arguments: [leaf] });
  }

  async remove(path: RelativePath, recursive: boolean): Promise<void> {
    const [walk, leaf] = split(path);
    const how = recursive ? "recursive" : "";
    await this.#do(REMOVE, path, { walk, arguments: [leaf, how], timeoutMs: REMOVE_MS });
  }

  /** The source was looked at: a link that has come above it since leads nowhere but inside. */
  async move(from: RelativePath, to: RelativePath): Promise<void> {
    const [walk, leaf] = split(to);
    const source = `${this.inside.guestWorkspace}/${from.text}`;
    await this.#do(MOVE, to, { walk, make: true, arguments: [leaf, source] });
  }

  async #do(script: string, path: RelativePath, command: Walk): Promise<void> {
    const end = await this.#run(script, command);
    if (end.exitCode !== 0) throw end.reason === "timeout" ? tooSlow(path.text) : scriptFailure(end, path);
  }

  async #run(script: string, { walk, make, timeoutMs, take, ...rest }: Walk): Promise<InsideEnd> {
    const workspace = this.inside.guestWorkspace;
    const command: InsideCommand = {
      script,
      arguments: [workspace, make ? "make" : "", String(walk.length), ...walk, ...rest.arguments],
      timeoutMs: Math.min(timeoutMs ?? COMMAND_MS, this.patienceMs),
      ...(take !== undefined && { take }),
    };
    return runInside(this.inside, command).catch((error: unknown) => {
      throw systemCode(error) === "COMMAND_NOT_FOUND" ? toolsMissing(error) : error;
    });
  }

  /** Asked once; a failure is not remembered. */
  findKind(): Promise<FindKind> {
    this.#find ??= this.#probeFind().catch((error: unknown) => {
      this.#find = undefined;
      throw error;
    });
    return this.#find;
  }

  async #probeFind(): Promise<FindKind> {
    const { exitCode } = await this.#run(PROBE_FIND, { walk: [], arguments: [] });
    if (exitCode === null) throw tooSlow("");
    if (exitCode === 126 || exitCode === 127) throw toolsMissing();
    return exitCode === 0 ? "gnu" : "plain";
  }
}

interface Walk {
  /** Names of directories, from the workspace on. */
  readonly walk: readonly string[];
  readonly make?: boolean;
  /** What comes after those. */
  readonly arguments: readonly string[];
  readonly timeoutMs?: number;
  readonly take?: (chunk: Buffer) => boolean;
}

function split(path: RelativePath): [readonly string[], string] {
  return [path.components.slice(0, -1), path.components.at(-1)!];
}
