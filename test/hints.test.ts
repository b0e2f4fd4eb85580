import ts from "typescript";
import { expect, it } from "vitest";
import { parse, readSources } from "./setup/source-files.js";

/** Floors whose errors reach the users of every face. */
const BELOW_THE_FACES = /^(?:kit|runtime|guard|core)\/(?!testing\/)/;

/** What only a library's caller reads, since nobody else can pass a wrong one: an example of the argument. */
const EXAMPLE = /^For example /;

/** Places that name a command or an option, with the reason. */
const EXCEPTIONS: readonly { readonly at: RegExp; readonly what: RegExp; readonly why: string }[] = [
  { at: /./, what: /^skerry doctor$/, why: "every user of a host has it" },
  {
    at: /^runtime\/backends\/containers\//,
    what: /^(?:skerry image|--\w+)$/,
    why: "images are built by the command alone; the options are its own, Docker's and Podman's",
  },
  { at: /^runtime\/backends\/linux\/cgroup\//, what: /^--privileged$/, why: "an option of Docker" },
  { at: /^guard\/policy\//, what: /^skerry policy$/, why: "it writes and checks the file that is wrong" },
];

/** Calls, commands of `skerry` and options in the sentences of a source. */
function foreignWords(file: string, source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    // A sentence: it begins with a capital, and has more than two words.
    if (text !== undefined && /^[A-Z].* .* /.test(text) && !EXAMPLE.test(text))
      for (const [word] of text.matchAll(
        /\b[a-z]\w*\([^)"'\d]*\)|\bskerry (?!is\b)[a-z]+|(?<=^|\s)--[a-z]+/g,
      ))
        if (!EXCEPTIONS.some(({ at, what }) => at.test(file) && what.test(word)))
          found.push(`${file}: ${word}`);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The text of a literal, with "…" for what is put into it. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…");
}

it("says what to do in words that fit every face, and names no call, command or option of one", () => {
  const found = [...readSources()]
    .filter(([file]) => BELOW_THE_FACES.test(file))
    .flatMap(([file, source]) => foreignWords(file, source));
  expect(found).toEqual([]);
});

it("would notice a call, a command and an option", () => {
  const source = parse(
    "core/a.ts",
    [
      'fail("Ask for it: manager.startSandbox(key).", "Make another with checkpoint().");',
      'fail("Delete sessions (skerry sessions rm), or see skerry doctor.");',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program
      'fail(`Add ${x} with --output here.`, "For example runCode(code).");',
    ].join("\n"),
  );
  expect(foreignWords("core/a.ts", source)).toEqual([
    "core/a.ts: startSandbox(key)",
    "core/a.ts: checkpoint()",
    "core/a.ts: skerry sessions",
    "core/a.ts: --output",
  ]);
});
