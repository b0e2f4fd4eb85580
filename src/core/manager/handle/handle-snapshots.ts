import type { Readable } from "node:stream";
import type { SandboxSessionSnapshots, SessionSnapshot } from "@skerry/client";
import { checkOptions } from "../../../kit/check-options.js";
import { SandboxError } from "../../../kit/errors.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { RestoreReport, SnapshotInfo } from "../../../runtime/workspace/index.js";
import { type SandboxCall, workValue } from "../call/file-call.js";
import { checkContent, idOf } from "./check-arguments.js";
import { type Content, inputOf } from "./handle-files.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";
import { streamUntilAborted } from "./until-aborted.js";

const READS_ALL = [{ path: ".", access: "read" }] as const;
const WRITES_ALL = [{ path: ".", access: "write" }] as const;

/** A session's snapshots, each use a tool call. */
export class HandleSnapshots implements SandboxSessionSnapshots {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  readonly #tool: string | undefined;

  /** `tool`: what a policy and the record call a snapshot that is taken or restored. @internal */
  constructor(host: HandleHost, caller: HandleCaller, tool?: string) {
    this.#host = host;
    this.#caller = caller;
    this.#tool = tool;
  }

  async create(options: { readonly name?: string | undefined } = {}): Promise<SessionSnapshot> {
    const { name } = checkOptions(options, { name: true });
    const { signal } = this.#caller;
    const taken = await this.#use({
      tool: this.#tool ?? "file_read",
      summary: "take a snapshot",
      paths: READS_ALL,
      work: (sandbox) => sandbox.snapshot({ name, signal }),
    });
    return toSnapshot(taken);
  }

  async list(): Promise<readonly SessionSnapshot[]> {
    const work: SandboxCall<SnapshotInfo[]>["work"] = (sandbox) => sandbox.listSnapshots();
    return (await this.#use({ tool: "file_list", summary: "list the snapshots", paths: [], work })).map(
      toSnapshot,
    );
  }

  async restore(snapshot: string | { readonly id: string }): Promise<RestoreReport> {
    const id = idOf(snapshot, "snapshot");
    const { signal } = this.#caller;
    return this.#use({
      tool: this.#tool ?? "file_write",
      summary: `restore the snapshot ${id}`,
      touchesAllFiles: true,
      paths: WRITES_ALL,
      work: (sandbox) => sandbox.restore(id, { signal }),
    });
  }

  async export(snapshot: string | { readonly id: string }): Promise<ReadableStream<Uint8Array>> {
    const archive = await this.exportInto(snapshot, async (archive) => archive);
    return streamUntilAborted(archive, this.#host.ended);
  }

  /** Gives the archive to `take`, within the call. @internal */
  async exportInto<Value>(
    snapshot: string | { readonly id: string },
    take: (archive: Readable) => Promise<Value>,
  ): Promise<Value> {
    const id = idOf(snapshot, "snapshot");
    return this.#use({
      tool: "file_read",
      summary: `export the snapshot ${id}`,
      touchesAllFiles: true,
      paths: READS_ALL,
      work: async (sandbox) => take(await sandbox.exportSnapshot(id)),
    });
  }

  /** Makes another session with the files of now, or of a snapshot; resolves to its sandbox. @internal */
  fork(sessionId: string | undefined, snapshotId: string | undefined): Promise<RunningSandbox> {
    const { signal } = this.#caller;
    return this.#use({
      tool: "file_read",
      summary: "fork the session",
      touchesAllFiles: true,
      paths: READS_ALL,
      work: (sandbox) => sandbox.fork(sessionId, { signal, ...(snapshotId !== undefined && { snapshotId }) }),
    });
  }

  async import(
    archive: Exclude<Content, string>,
    options: { readonly name?: string | undefined } = {},
  ): Promise<SessionSnapshot> {
    const { name } = checkOptions(options, { name: true });
    checkContent(archive);
    const input = inputOf(archive) as Uint8Array | Readable;
    const { signal } = this.#caller;
    const imported = await this.#use({
      tool: "file_write",
      summary: "import a snapshot",
      touchesAllFiles: true,
      paths: WRITES_ALL,
      work: (sandbox) => sandbox.importSnapshot(input, { name, signal }),
    });
    return toSnapshot(imported);
  }

  async delete(snapshot: string | { readonly id: string }): Promise<void> {
    const id = idOf(snapshot, "snapshot");
    const isDeleted = await this.#use({
      tool: "file_delete",
      summary: `delete the snapshot ${id}`,
      paths: [],
      work: (sandbox) => sandbox.deleteSnapshot(id),
    });
    if (isDeleted) return;
    throw new SandboxError("SNAPSHOT_NOT_FOUND", "This session has no such snapshot", {
      hint: "List its snapshots.",
    });
  }

  async #use<Value>(call: Omit<SandboxCall<Value>, keyof HandleCaller>): Promise<Value> {
    return workValue(await this.#host.useSandbox({ ...this.#caller, ...call }));
  }
}

/** A snapshot as callers see it. */
export function toSnapshot({ id, name, createdAt, files, bytes }: SnapshotInfo): SessionSnapshot {
  return { id, createdAt: createdAt.toISOString(), files, bytes, ...(name !== undefined && { name }) };
}
