import type { Match } from "../findings.js";

/** A shape of the text itself, which its single commands do not show. */
export interface TextPattern extends Match {
  readonly test: RegExp;
}

/** Expressions have no nested repetition, so that no text makes them slow. */
export const TEXT_PATTERNS: readonly TextPattern[] = [
  {
    rule: "fork-bomb",
    level: "critical",
    test: /([\w:.]{1,20})\s{0,5}\(\)\s{0,5}\{\s{0,5}\1\s{0,5}\|\s{0,5}\1\s{0,5}&/,
    why: "Starts itself twice, for ever.",
  },
  {
    rule: "fork-bomb",
    level: "critical",
    test: /\$(?:0|\{0\}|BASH_SOURCE)"?\s{0,5}[|&]\s{0,5}"?(?:\.\/)?\$(?:0|\{0\}|BASH_SOURCE)/,
    why: "Starts itself twice, for ever.",
  },
  {
    rule: "secret-file",
    level: "high",
    test: /\$\{?\w{1,40}\}?"?\/(?:\.ssh\/|\.aws\/credentials|\.gnupg\/|\.kube\/config|\.netrc\b|\.git-credentials)/,
    why: "Holds keys or credentials of the user.",
  },
  {
    rule: "endless-spawning",
    level: "high",
    test: /\bwhile\s{1,5}(?:true|:|\(\(\s{0,3}1\s{0,3}\)\)|\[{1,2} 1 \]{1,2})\s{0,5};?\s{0,5}do\b[^;&]{0,200}(?<!&|>)&(?!&|>|\d)\s{0,5};?\s{0,5}done/,
    why: "Starts processes in a loop without an end.",
  },
];
