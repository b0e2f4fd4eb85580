import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
  "examples/README.md",
];
/** The files below a folder whose path matches. */
export const below = (folder: string, path: RegExp) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((each) => path.test(each))
    .map((each) => `${folder}/${each}`);
/** What tells a newcomer where things are. */
export const GUIDES = [
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "llms.txt",
  ...["bench", "docs/contribute", "docs/operate", "guest", "src"].flatMap((folder) => below(folder, /\.md$/)),
];
export const read = (document: string) => readFileSync(join(ROOT, document), "utf8");

/** One fenced block of a document. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly where: string;
}

export function blocksOf(document: string, ...languages: string[]): Block[] {
  const text = read(document);
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .map(({ 1: language, 2: body, index }) => ({
      language: language!,
      text: body!,
      where: `${document}:${text.slice(0, index).split("\n").length}`,
    }))
    .filter(({ language }) => languages.includes(language));
}

/** One command line of a document; `output` is what the reader is told it prints. */
export interface CommandLine {
  readonly line: string;
  readonly output: string | undefined;
  readonly where: string;
}

function commandLinesOf(document: string): CommandLine[] {
  return blocksOf(document, "sh", "console").flatMap(({ language, text, where }): CommandLine[] => {
    if (language === "sh") {
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      return lines.map((line) => ({ line, output: undefined, where }));
    }
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf("\n");
        return { line: part.slice(0, end), output: part.slice(end + 1), where };
      });
  });
}

/** All of them, in the order of the documents. */
export const commandLines = DOCUMENTS.flatMap(commandLinesOf);

/** Rows of a Markdown table after the given header cell; cells without their backticks. */
export function tableRows(text: string, header: string): string[][] {
  const lines = text.split("\n");
  const start = lines.findIndex(
    (line, index) => line.startsWith(`| ${header} |`) && lines[index + 1]?.startsWith("|--"),
  );
  expect(start, `a table with the column ${header}`).toBeGreaterThan(-1);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith("|")) break;
    rows.push(
      line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

/** What stands in backticks. */
export const code = (cell: string | undefined) => /^`(.*)`$/.exec(cell ?? "")?.[1];

export const quote = (text: string) => `\`${text}\``;
export const list = (texts: readonly string[]) => texts.map(quote).join(", ");
