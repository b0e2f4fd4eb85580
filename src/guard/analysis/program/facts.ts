import type { Match } from "../rules/findings.js";
import type { KnownFunction } from "./known-functions.js";
import type { KnownCall, ProcessStart, WrittenFile } from "./process-start.js";
import type { Value } from "./value.js";

/** What a program would do, read once: the policy asks for the processes it starts, risk for everything else. */
export interface ProgramFacts {
  readonly language: "python" | "javascript";
  /** Calls of known functions, with folded arguments. */
  readonly calls: readonly KnownCall[];
  /** Calls that a function which was handed on may turn into. */
  readonly possibleCalls: readonly KnownCall[];
  /** Calls of anything else. */
  readonly otherCalls: readonly OtherCall[];
  /** Every process that it starts and every text that it runs as code; what is not known of them is undefined. */
  readonly starts: readonly ProcessStart[];
  readonly imports: readonly { readonly module: string; readonly offset: number }[];
  /** Known functions that are named without being called. */
  readonly mentions: readonly { readonly known: KnownFunction; readonly offset: number }[];
  /** Constant texts that look like commands, of a program that runs what only the run knows. */
  readonly commandTexts: readonly { readonly text: string; readonly offset: number }[];
  readonly written: readonly WrittenFile[];
  /** What no single call shows: a hidden name, a loop that takes all memory. */
  readonly signs: readonly { readonly match: Match; readonly offset: number }[];
  /** What is written into the input of a process that it started. */
  readonly inputs: readonly { readonly value: Value; readonly offset: number }[];
  /** It names a script that runs when a package is installed. */
  readonly installScript: boolean;
  /** The first offset that is no sentence of the language. */
  readonly errorAt: number | undefined;
  /** Too long, too deep or too complex to be followed to the end. */
  readonly incomplete: "too-long" | "too-complex" | undefined;
}

export interface OtherCall {
  readonly names: readonly string[];
  /** The member that is called; undefined: it is no member. */
  readonly method: string | undefined;
  readonly args: readonly Value[];
  /** Marks of what the method is called on. */
  readonly from: number;
  readonly offset: number;
}
