import { MAX_CELL_CODE_BYTES, MAX_FORKED_CELL_CODE_BYTES } from "../../../kit/code-limits.js";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../backends/index.js";
import type { CellLimits, RunRequest, WarmHandle } from "../../wire/index.js";
import type { RunCodeOptions } from "../exec-options.js";
import type { Language } from "../languages/language.js";
import { explainMissingCommand, LANGUAGES } from "../languages/registry.js";
import type { CommandStart } from "./command-start.js";

/** What programs in cells get, and what their interpreter has loaded before. */
export interface CellSettings {
  readonly limits: CellLimits;
  readonly preload: readonly string[];
  /** Cells that are made ahead, for as many programs at once. */
  readonly standbys: number;
}

/** The one language whose interpreter is kept ready for cells. */
const FORKED = LANGUAGES.find(({ warm }) => warm?.cellCommand !== undefined);

/** Runs programs in cells: namespaces, files and limits of their own, gone with the program. */
export class CellRunner {
  #interpreter: WarmHandle | undefined;
  #isReady = false;
  #failures = 0;

  constructor(
    private readonly instance: Instance,
    private readonly settings: CellSettings | undefined,
    private readonly start: CommandStart,
  ) {}

  prepare(language: Language, code: string, options: RunCodeOptions): PreparedProgram {
    if (options.cwd !== undefined || options.filename !== undefined) {
      throw new SandboxError("INVALID_ARGUMENT", "A program in a cell takes no directory and no file name", {
        hint: "It starts in an empty workspace of its own. Leave cwd and filename out.",
      });
    }
    const settings = this.#require();
    const content = Buffer.from(code);
    if (content.length > MAX_CELL_CODE_BYTES) {
      throw new SandboxError(
        "FILE_TOO_LARGE",
        `A program in a cell has ${MAX_CELL_CODE_BYTES} bytes at most`,
        {
          hint: "Run it without isolate, in a sandbox of its own.",
        },
      );
    }
    const { guestWorkspace, guestRuntime } = this.instance;
    const path = `${guestWorkspace}/main${language.extensions[0]}`;
    const args = options.args ?? [];
    const warm =
      language === FORKED && content.length <= MAX_FORKED_CELL_CODE_BYTES ? this.#warm(settings) : undefined;
    const env = { ...this.start.environment, ...options.env };
    const job = { path, argv: [path, ...args], cwd: guestWorkspace, env, file: code };
    return {
      request: {
        argv: [...language.command(path, guestRuntime), ...args],
        language: language.name,
        cell: { limits: settings.limits, file: { path, content } },
        ...(warm !== undefined && { warm: { id: warm.id, job: JSON.stringify(job) } }),
      },
      explain: (error) => explainMissingCommand(language, error),
    };
  }

  /** Resolves when programs of that language find an interpreter that is ready. */
  async prewarm(): Promise<void> {
    this.#warm(this.#require());
    await this.#interpreter?.ready;
  }

  #require(): CellSettings {
    if (this.settings !== undefined) return this.settings;
    throw new SandboxError("UNSUPPORTED", "This sandbox was not made for cells", {
      hint: "Leave isolate out, or run the program in a sandbox of its own. Only the backend bubblewrap has cells.",
    });
  }

  #warm(settings: CellSettings): WarmHandle | undefined {
    if (this.#interpreter === undefined && this.#failures < 3) this.#launch(settings);
    return this.#isReady ? this.#interpreter : undefined;
  }

  #launch(settings: CellSettings): void {
    const { guestRuntime, guestWorkspace, runner } = this.instance;
    const argv = FORKED?.warm?.cellCommand?.(guestRuntime, settings);
    if (FORKED === undefined || argv === undefined) return;
    const handle = runner.warm({
      argv,
      env: this.start.environment,
      cwd: guestWorkspace,
      kind: "fork",
      makesCells: true,
      language: FORKED.name,
    });
    this.#interpreter = handle;
    handle.ready.then(
      () => {
        this.#isReady = true;
      },
      () => this.#failures++,
    );
    void handle.gone.then(() => {
      this.#isReady = false;
      this.#interpreter = undefined;
    });
  }
}

/** A program given as text that is ready to run. */
export interface PreparedProgram {
  readonly request: Omit<RunRequest, "env" | "cwd">;
  /** Called when the program has ended; the result waits for it. Never throws. */
  readonly tidyUp?: () => Promise<void>;
  /** The error for the caller when it could not be run. */
  explain(error: unknown): unknown;
  /** Called once, whatever the outcome. */
  release?(): Promise<void>;
}
