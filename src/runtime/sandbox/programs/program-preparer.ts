import type { Instance } from "../../backends/index.js";
import type { WorkspaceFiles } from "../../workspace/index.js";
import type { RunCodeOptions } from "../exec-options.js";
import type { ChangeLog } from "../files/change-log.js";
import type { Language } from "../languages/language.js";
import { explainMissingCommand } from "../languages/registry.js";
import type { SandboxInit } from "../sandbox-init.js";
import type { PreparedProgram } from "./cell-runner.js";
import type { CommandStart } from "./command-start.js";
import type { Harness } from "./harness.js";
import { type ProgramFile, placeProgram } from "./program-file.js";
import { WarmInterpreters } from "./warm-interpreters.js";

/** Prepares programs that are given as text: as a file of their own, in an interpreter that is ready where there is one. */
export class ProgramPreparer {
  readonly #instance: Instance;
  readonly #workspace: WorkspaceFiles;
  readonly #changes: ChangeLog;
  readonly #start: CommandStart;
  readonly #warm: WarmInterpreters;
  /** Languages whose programs have a place to run in, where those have places of their own. */
  readonly #preparedLanguages = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(
    { instance, workspace, settings }: Pick<SandboxInit, "instance" | "workspace" | "settings">,
    changes: ChangeLog,
    start: CommandStart,
  ) {
    this.#instance = instance;
    this.#workspace = workspace;
    this.#changes = changes;
    this.#start = start;
    this.#warm = new WarmInterpreters(instance, settings.warm, () => start.environment);
  }

  /** With a harness it is not a warm interpreter's, but started by the harness's own command. */
  async prepare(
    language: Language,
    code: string,
    options: RunCodeOptions,
    harness?: Harness,
  ): Promise<PreparedProgram> {
    await this.prepareFor(language.name);
    const program = await placeProgram(this.#workspace, this.#changes, language, code, {
      filename: options.filename,
      forHarness: harness !== undefined,
    });
    try {
      return this.#prepared(language, program, options, harness);
    } catch (error) {
      await program.remove();
      throw error;
    }
  }

  /** Starts an interpreter ahead of the first program; resolves when it is ready. */
  async prewarm(language: Language): Promise<void> {
    await this.prepareFor(language.name);
    await this.#warm.prepare(language);
  }

  /** Makes a place for programs of a language, where languages have places of their own. */
  async prepareFor(language: string): Promise<void> {
    if (this.#instance.prepareLanguage !== undefined) await this.#prepareLanguage(language);
  }

  /** An interpreter that is ready, for something else than a program that was given as text. */
  takeWarm(
    language: Language,
    env: Readonly<Record<string, string>>,
  ): { readonly id: number; done(): void } | undefined {
    const taken = this.#warm.take(language, env);
    if (taken === undefined) return undefined;
    return {
      id: taken.id,
      done: () => {
        taken.done();
        if (!this.#isClosed) this.#warm.replenish(language);
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#warm.close();
  }

  #prepared(
    language: Language,
    program: ProgramFile,
    options: RunCodeOptions,
    harness: Harness | undefined,
  ): PreparedProgram {
    const { guestWorkspace, guestRuntime } = this.#instance;
    const path = `${guestWorkspace}/${program.path}`;
    const args = options.args ?? [];
    const env = { ...this.#start.environment, ...options.env };
    const cwd = this.#start.directory(options.cwd);
    const command = harness?.command(guestRuntime, path) ?? language.command(path, guestRuntime);
    const interpreter = harness === undefined ? this.#warm.take(language, options.env ?? {}) : undefined;
    return {
      request: {
        argv: [...command, ...args],
        language: language.name,
        ...(harness !== undefined && { control: true }),
        ...(interpreter !== undefined && {
          warm: { id: interpreter.id, job: JSON.stringify({ path, argv: [path, ...args], cwd, env }) },
        }),
      },
      tidyUp: () => program.remove(),
      explain: (error) => explainMissingCommand(language, error, this.#instance.imageOf?.(language.name)),
      release: async () => {
        interpreter?.done();
        await program.remove();
        if (!this.#isClosed && harness === undefined) this.#warm.replenish(language);
      },
    };
  }

  /** Once for each language; a failure is not remembered. */
  #prepareLanguage(language: string): Promise<void> | undefined {
    const known = this.#preparedLanguages.get(language);
    if (known !== undefined) return known;
    const prepared = this.#instance.prepareLanguage?.(language);
    if (prepared === undefined) return undefined;
    this.#preparedLanguages.set(language, prepared);
    prepared.catch(() => this.#preparedLanguages.delete(language));
    return prepared;
  }
}
