import type { CellLimits } from "../../wire/index.js";

/** A language the sandbox can run: one folder here, and one line in registry.ts. */
export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  /** The first is what a program without a name gets. */
  readonly extensions: readonly [string, ...string[]];
  /** The program to look for inside, and what to install when it is not there. */
  readonly interpreter: string;
  readonly install: string;
  /** Arguments that start a program the plain way. `runtime` is where the guest's runners are inside. */
  command(path: string, runtime: string): readonly string[];
  /** Left out: every program starts an interpreter. */
  readonly warm?: WarmLanguage;
  /** Left out: it has no contexts. */
  readonly context?: ContextLanguage;
  /** Left out: a solution in it cannot be tested. */
  readonly tests?: TestingLanguage;
}

/** How an interpreter is kept started. */
export interface WarmLanguage {
  readonly kind: "fork" | "single";
  command(runtime: string, preload: readonly string[]): readonly string[];
  /** Variables that only act when an interpreter starts: a program that sets one gets a fresh interpreter. */
  readonly startupVariables: RegExp;
  /** Starts one that forks into cells, `standbys` of them made ahead. Left out: a cell starts an interpreter. */
  cellCommand?(
    runtime: string,
    settings: { preload: readonly string[]; standbys: number; limits: CellLimits },
  ): readonly string[];
}

/** How a language keeps its state between pieces of code. */
export interface ContextLanguage {
  /** The runner and its arguments, below the guest's runtime. */
  readonly runner: string;
  readonly interpreter: readonly string[];
  readonly args?: readonly string[];
  /** Copies of its state can be made. */
  readonly copies: boolean;
  /** Its runner gives code a text as its standard input. */
  readonly takesInput?: boolean;
  /** Its runner takes interrupts as messages: a signal would only reach what the code started. */
  readonly hearsInterrupts?: boolean;
  /** The signal is sent again while the code goes on: it may miss a process that is just being started. */
  readonly repeatsInterrupts?: boolean;
  /** What its runner reads with a repeated signal; left out: nothing. */
  encodeRepeatedInterrupt?(run: number): string;
  /** The code as its runner takes it; left out: as it is. */
  rewrite?(code: string): Promise<string>;
  /** An order to run code, as its runner reads it; left out: a message in JSON. */
  encodeRun?(run: number, code: string): string;
}

/** How solutions and their tests run, and how values and exceptions read. Commands begin as `Language.command` does. */
export interface TestingLanguage {
  /** What runs its tests unless the sandbox says otherwise. */
  readonly runner: "pytest" | "node:test";
  /** What a solution's module can be called. */
  readonly moduleName: RegExp;
  /** The default name of its tests. */
  testsName(module: string): string;
  /** Another extension by which the runners know what this very code is; left out or undefined: the first of its language. */
  extensionFor?(code: string): string | undefined;
  /** The solution alone, for tests elsewhere. */
  solution(runtime: string, program: string, module: string): readonly string[];
  /** The tests alone; the solution's module asks the other side. */
  tests(runtime: string, program: string, module: string, runner: PythonRunner): readonly string[];
  /** Both in one process: `program` is the solution. */
  together(runtime: string, program: string, tests: string, runner: PythonRunner): readonly string[];
  /** The solution, with cases that come one by one. */
  cases(runtime: string, program: string, module: string): readonly string[];
  /** Its functions take arguments by name. */
  readonly hasKeywords: boolean;
  readonly values: ValueNotation;
  /** The built-in exceptions directly below each class, with spaces between; what is not named here is none of them. */
  readonly exceptions: Readonly<Record<string, string>>;
}

/** Left to the sandbox, or unittest also where there is pytest. */
export type PythonRunner = "auto" | "unittest";

/** How a language writes values, for people and models. */
export interface ValueNotation {
  readonly null: string;
  readonly true: string;
  readonly false: string;
  readonly nan: string;
  readonly inf: string;
  /** What follows a float without a fraction, and the only part of a tuple. */
  readonly wholeFloat: string;
  readonly tupleOfOne: string;
  readonly tuple: readonly [open: string, close: string];
  readonly set: readonly [open: string, close: string];
  readonly emptySet: string;
  bytes(bytes: Buffer): string;
}
