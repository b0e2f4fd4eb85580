import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One labelled piece of code. The label was written before any rule saw the code. */
export interface Snippet {
  readonly file: string;
  readonly title: string;
  readonly label: "safe" | "low" | "medium" | "high" | "critical";
  readonly language: string;
  readonly code: string;
}

const SECTION = /^## (safe|low|medium|high|critical): (.+)\n```(\w+)\n([\s\S]*?)\n```$/gm;

/** Every snippet of the Markdown files in a directory, in the order of their names. */
export function loadSnippets(directory: string): Snippet[] {
  const files = readdirSync(directory).filter((name) => name.endsWith(".md") && name !== "README.md");
  return files.sort().flatMap((file) => {
    const text = readFileSync(join(directory, file), "utf8");
    const snippets = [...text.matchAll(SECTION)].map(([, label, title, language, code]) => ({
      file,
      title: title!,
      label: label as Snippet["label"],
      language: language!,
      code: `${code!}\n`,
    }));
    // A heading that is not understood would be a snippet that nobody counts.
    const headings = text.match(/^## /gm)?.length ?? 0;
    if (snippets.length !== headings)
      throw new Error(`${file}: ${headings} headings, ${snippets.length} snippets`);
    return snippets;
  });
}

/** Somebody should be asked before this runs. */
export function isDangerous(level: string): boolean {
  return level === "high" || level === "critical";
}

/** How well levels agree with labels, both seen as dangerous or not. */
export interface Score {
  readonly dangerous: number;
  readonly benign: number;
  readonly found: number;
  readonly passed: number;
  /** The share of the dangerous ones that are found. */
  readonly recall: number;
  /** The share of the benign ones that pass. */
  readonly specificity: number;
  /** The share of the alarms that are right. */
  readonly precision: number;
}

export function scoreOf(pairs: readonly { readonly label: string; readonly level: string }[]): Score {
  const dangerous = pairs.filter(({ label }) => isDangerous(label));
  const benign = pairs.filter(({ label }) => !isDangerous(label));
  const found = dangerous.filter(({ level }) => isDangerous(level)).length;
  const passed = benign.filter(({ level }) => !isDangerous(level)).length;
  return {
    dangerous: dangerous.length,
    benign: benign.length,
    found,
    passed,
    recall: found / dangerous.length,
    specificity: passed / benign.length,
    precision: found / (found + benign.length - passed),
  };
}
