import { Readable } from "node:stream";
import type { SandboxSessionFiles, SessionFile } from "@skerry/client";
import { checkOptions } from "../../../kit/check-options.js";
import { SandboxError } from "../../../kit/errors.js";
import type { CopiedTree } from "../../../runtime/projects/index.js";
import { type Entry, parseInnerPath, parseRelativePath } from "../../../runtime/workspace/index.js";
import { allFilesAt } from "../call/all-files-at.js";
import type { TouchedPath } from "../call/call-kind.js";
import { type FileCall, workValue } from "../call/file-call.js";
import { checkContent, workspacePath } from "./check-arguments.js";
import type { HandleCaller, HandleHost } from "./handle-host.js";
import { streamUntilAborted } from "./until-aborted.js";

/** What can be written into a file, or read as an archive. */
export type Content = string | Uint8Array | Blob | ReadableStream<Uint8Array> | Readable;

/** A session's files, each access a tool call. */
export class HandleFiles implements SandboxSessionFiles {
  readonly #host: HandleHost;
  readonly #caller: HandleCaller;

  /** @internal */
  constructor(host: HandleHost, caller: HandleCaller) {
    this.#host = host;
    this.#caller = caller;
  }

  async *list(directory = ".", options: { readonly recursive?: boolean } = {}): AsyncGenerator<SessionFile> {
    const { recursive = false } = checkOptions(options, { recursive: true });
    const { entries, truncated } = await this.scan(directory, recursive);
    for (const { modifiedMs, path: file, type, size, mode } of entries)
      yield { path: file, type, size, mode, modifiedAt: new Date(modifiedMs).toISOString() };
    if (!truncated) return;
    throw new SandboxError("UNSUPPORTED", "There is more in the directory than is listed", {
      hint: "List the directories one by one.",
    });
  }

  /** The whole listing at once; `truncated`: there is more than it has. @internal */
  async scan(
    directory: string,
    recursive: boolean,
  ): Promise<{ entries: readonly Entry[]; truncated: boolean }> {
    const path = parseRelativePath(workspacePath(directory) || ".").text || ".";
    return this.#use({
      tool: "file_list",
      summary: `list ${path}`,
      paths: [reads(path)],
      work: async ({ files, maySee }) => {
        const { entries, truncated } = await files.scan(path, { recursive });
        return { entries: entries.filter((entry) => maySee(entry.path)), truncated };
      },
    });
  }

  async read(path: string): Promise<string> {
    return (await this.readBytes(path)).toString("utf8");
  }

  async readBytes(path: string): Promise<Buffer> {
    return this.#read(path, (files, file) => files.read(file));
  }

  async readStream(path: string): Promise<ReadableStream<Uint8Array>> {
    const stream = await this.#read(path, (files, file) => files.readStream(file));
    return streamUntilAborted(stream, this.#host.ended);
  }

  /** Gives the content to `take`, within the call. @internal */
  readInto(path: string, take: (content: Readable) => Promise<void>): Promise<void> {
    return this.#read(path, async (files, file) => take(await files.readStream(file)));
  }

  async write(path: string, content: Content): Promise<void> {
    checkContent(content);
    const file = parseInnerPath(workspacePath(path)).text;
    await this.#use({
      tool: "file_write",
      summary: `write ${file}`,
      paths: [writes(file)],
      content: { [file]: inputOf(content) },
      isPlaced: true,
      // Whether it was there before is not known by now.
      work: async ({ changed }) => changed(file, "modified"),
    });
  }

  async remove(path: string, options: { readonly recursive?: boolean } = {}): Promise<void> {
    const { recursive = false } = checkOptions(options, { recursive: true });
    const file = parseInnerPath(workspacePath(path)).text;
    await this.#use({
      tool: "file_delete",
      summary: `remove ${file}${recursive ? " and everything in it" : ""}`,
      paths: [writes(file)],
      work: async (guarded) => {
        const gone = recursive ? await allFilesAt(file, guarded) : [file];
        await guarded.files.remove(file, { recursive });
        for (const each of gone) guarded.changed(each, "deleted");
      },
    });
  }

  async move(from: string, to: string): Promise<void> {
    const [old, moved] = [parseInnerPath(workspacePath(from)).text, parseInnerPath(workspacePath(to)).text];
    await this.#use({
      tool: "file_write",
      summary: `move ${old} to ${moved}`,
      paths: [reads(old), writes(old), writes(moved)],
      work: async (guarded) => {
        // A directory would take along what the policy keeps back.
        const gone = await allFilesAt(old, guarded);
        await guarded.files.move(old, moved);
        for (const each of gone) {
          guarded.changed(each, "deleted");
          guarded.changed(moved + each.slice(old.length), "created");
        }
      },
    });
  }

  async mkdir(directory: string): Promise<void> {
    const path = parseInnerPath(workspacePath(directory)).text;
    await this.#use({
      tool: "file_write",
      summary: `make ${path}`,
      paths: [writes(path)],
      work: async ({ files, changed }) => {
        await files.mkdir(path);
        changed(path, "created");
      },
    });
  }

  /**
   * Copies a directory of this host into the session, without git's own files, what `.gitignore` leaves out, and secrets; files that
   * are there are replaced.
   */
  async putDirectory(source: string, path: string): Promise<CopiedTree> {
    const target = parseRelativePath(workspacePath(path) || ".").text;
    return workValue(
      await this.#host.useSandbox({
        ...this.#caller,
        tool: "file_write",
        summary: `copy a directory to ${target || "the workspace"}`,
        touchesAllFiles: true,
        paths: [writes(target || ".")],
        work: ({ projects }) => projects.putDirectory(source, target),
      }),
    );
  }

  /** Copies a directory of the session to a new one of this host; links that lead out of it and special files are left out. */
  async getDirectory(path: string, destination: string): Promise<CopiedTree> {
    const source = parseRelativePath(workspacePath(path) || ".").text;
    return workValue(
      await this.#host.useSandbox({
        ...this.#caller,
        tool: "file_read",
        summary: `copy the directory ${source || "of the workspace"} out`,
        touchesAllFiles: true,
        paths: [reads(source || ".")],
        work: ({ projects }) => projects.getDirectory(source, destination),
      }),
    );
  }

  #read<Value>(
    path: string,
    work: (files: Parameters<FileCall<Value>["work"]>[0]["files"], file: string) => Promise<Value>,
  ): Promise<Value> {
    const file = parseInnerPath(workspacePath(path)).text;
    return this.#use({
      tool: "file_read",
      summary: `read ${file}`,
      paths: [reads(file)],
      work: ({ files }) => work(files, file),
    });
  }

  async #use<Value>(call: Omit<FileCall<Value>, keyof HandleCaller>): Promise<Value> {
    return workValue(await this.#host.useFiles({ ...this.#caller, ...call }));
  }
}

/** Content as the calls of a manager take it. */
export function inputOf(content: Content): string | Uint8Array | Readable {
  if (content instanceof Blob) return inputOf(content.stream());
  if (content instanceof ReadableStream)
    return Readable.fromWeb(content as Parameters<typeof Readable.fromWeb>[0]);
  return content;
}

function reads(path: string): TouchedPath {
  return { path, access: "read" };
}

function writes(path: string): TouchedPath {
  return { path, access: "write" };
}
