import { randomBytes } from "node:crypto";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../backends/index.js";
import type { RunRequest, WarmHandle } from "../../wire/index.js";
import type { TrackedExecution } from "../executions/executions.js";
import { DEFAULT_LANGUAGE, findLanguageWith } from "../languages/registry.js";
import { CodeContext, type ContextHost } from "./code-context.js";
import { Kernel } from "./kernel.js";

export interface ContextOptions {
  /** Left out: python. */
  readonly language?: string | undefined;
  /** What it is called; left out: a name of its own. */
  readonly id?: string | undefined;
  /** A path inside; relative ones start at the workspace. */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** What the contexts of a sandbox need of it. */
export interface ContextsInit {
  readonly instance: Instance;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly environment: () => Readonly<Record<string, string>>;
  readonly directory: (cwd: string | undefined) => string;
  /** A place for programs of a language, and an interpreter of it that is warm. */
  readonly prepare: (language: string) => Promise<void>;
  readonly takeWarm: (
    language: string,
    env: Readonly<Record<string, string>>,
  ) => { readonly id: number; done(): void } | undefined;
  readonly track: () => Promise<TrackedExecution>;
  readonly snapshot: () => Promise<string>;
  readonly restore: (snapshotId: string) => Promise<void>;
  readonly forgetSnapshot: (snapshotId: string) => Promise<void>;
}

const MAX_CONTEXTS = 64;

/** The contexts of one sandbox. They go with it. */
export class Contexts {
  readonly #contexts = new Map<string, CodeContext>();
  /** Names that are being given. */
  readonly #starting = new Map<string, Promise<CodeContext>>();

  constructor(private readonly init: ContextsInit) {}

  async create(options: ContextOptions): Promise<CodeContext> {
    const id = options.id ?? `ctx-${randomBytes(6).toString("hex")}`;
    const { context } = findLanguageWith("context", options.language ?? DEFAULT_LANGUAGE);
    return this.#add(id, options, async (host) => {
      const { request, done } = await host.request();
      try {
        return await Kernel.start(this.init.instance, request, context);
      } finally {
        done();
      }
    });
  }

  /** The one of that name, made now if there is none; a concurrent caller gets the same. */
  async obtain(id: string, language: string): Promise<CodeContext> {
    const wanted = findLanguageWith("context", language).name;
    const context = await (this.#contexts.get(id) ?? this.#starting.get(id) ?? this.create({ id, language }));
    if (context.language === wanted) return context;
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `The context ${JSON.stringify(id)} is one of ${context.language}, not of ${wanted}`,
      { hint: "Give each language a context of its own." },
    );
  }

  list(): CodeContext[] {
    return [...this.#contexts.values()];
  }

  get(id: string): CodeContext {
    const found = this.#contexts.get(id);
    if (found !== undefined) return found;
    throw new SandboxError("CONTEXT_NOT_FOUND", `This sandbox has no context ${JSON.stringify(id)}`, {
      hint: "It may have been closed, or gone with a sandbox that was stopped. Create it again.",
    });
  }

  async #add(
    id: string,
    options: ContextOptions,
    start: (host: ContextHost) => Promise<Kernel>,
    origin?: WarmHandle,
  ): Promise<CodeContext> {
    checkId(id);
    const language = findLanguageWith("context", options.language ?? DEFAULT_LANGUAGE);
    if (this.#contexts.has(id) || this.#starting.has(id)) {
      throw new SandboxError("CONFLICT", `There already is a context ${JSON.stringify(id)}`, {
        hint: "Give it another name, or use the one that is there.",
      });
    }
    if (this.#contexts.size + this.#starting.size >= MAX_CONTEXTS) {
      throw new SandboxError("SANDBOX_BUSY", `A sandbox has ${MAX_CONTEXTS} contexts at most`, {
        hint: "Delete one first.",
      });
    }
    const host = this.#hostFor(id, options);
    const starting = start(host).then((kernel) => {
      const context = new CodeContext(id, language, host, kernel, origin);
      this.#contexts.set(id, context);
      return context;
    });
    this.#starting.set(id, starting);
    return starting.finally(() => this.#starting.delete(id));
  }

  #hostFor(id: string, options: ContextOptions): ContextHost {
    const { instance, timeoutMs, maxOutputBytes, track, snapshot, restore, forgetSnapshot } = this.init;
    return {
      instance,
      timeoutMs,
      maxOutputBytes,
      track,
      snapshot,
      restore,
      forgetSnapshot,
      request: () => this.#request(options),
      adopt: (start, frozen) => this.#add(nameOfCopy(id), options, () => start(), frozen),
      closed: () => {
        this.#contexts.delete(id);
      },
    };
  }

  async #request(options: ContextOptions): Promise<{ request: RunRequest; done(): void }> {
    const { instance, environment, directory, prepare, takeWarm } = this.init;
    const language = findLanguageWith("context", options.language ?? DEFAULT_LANGUAGE);
    const { interpreter, runner, args = [], copies } = language.context;
    await prepare(language.name);
    const path = `${instance.guestRuntime}/${runner}`;
    const cwd = directory(options.cwd);
    const env = { ...environment(), ...options.env };
    const warm = copies ? takeWarm(language.name, options.env ?? {}) : undefined;
    return {
      request: {
        argv: [...interpreter, path, ...args],
        env,
        cwd,
        language: language.name,
        ...(warm !== undefined && {
          warm: { id: warm.id, job: JSON.stringify({ path, argv: [path], cwd, env }) },
        }),
      },
      done: () => warm?.done(),
    };
  }
}

function checkId(id: unknown): void {
  if (typeof id === "string" && /^[\w.:-]{1,100}$/.test(id)) return;
  throw new SandboxError(
    "INVALID_ARGUMENT",
    "A context's name is 1 to 100 letters, digits, dots, colons or dashes",
    {
      hint: "Leave it out for a name of its own.",
    },
  );
}

/** Of copies of copies, too, it is a name that a context may have. */
function nameOfCopy(id: string): string {
  return `${id.slice(0, 80)}-${randomBytes(3).toString("hex")}`;
}
