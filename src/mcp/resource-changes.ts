import type { ToolReply } from "../core/tools/index.js";
import { SandboxError } from "../kit/errors.js";
import { pathOf, uriOf } from "./resource-uri.js";

export interface ResourceListener {
  /** The list may be another now. */
  readonly listChanged: () => void;
  /** A file may have changed that the client wants to hear of. */
  readonly updated: (uri: string) => void;
}

const INTERVAL_MS = 500;
const MAX_SUBSCRIPTIONS = 1000;

/** Tells a client of files that its own calls changed: at most so often, and of single files only those it asked for. */
export class ResourceChanges implements Disposable {
  readonly #subscribed = new Set<string>();
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly listener: ResourceListener) {}

  subscribe(uri: string): void {
    const path = pathOf(uri);
    if (this.#subscribed.size >= MAX_SUBSCRIPTIONS && !this.#subscribed.has(path)) {
      throw new SandboxError("SANDBOX_BUSY", `${MAX_SUBSCRIPTIONS} files are already watched`, {
        hint: "Unsubscribe from one of them.",
      });
    }
    this.#subscribed.add(path);
  }

  unsubscribe(uri: string): void {
    this.#subscribed.delete(pathOf(uri));
  }

  /** Notes what a call did to files. */
  note({ data }: ToolReply, isFileTool: boolean): void {
    const paths = [...texts(data["filesWritten"]), ...texts(data["filesDeleted"])];
    if (isFileTool) paths.push(...texts([data["path"]]));
    if (paths.length === 0) return;
    for (const path of this.#subscribed) {
      if (paths.some((each) => path === each || path.startsWith(`${each}/`))) this.#changed.add(path);
    }
    this.#timer ??= setTimeout(() => this.#tell(), INTERVAL_MS);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#subscribed.clear();
  }

  #tell(): void {
    this.#timer = undefined;
    this.listener.listChanged();
    for (const path of this.#changed) this.listener.updated(uriOf(path));
    this.#changed.clear();
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
