import { type Expander, expandValue, processContent } from "./expand.js";
import { type Content, known, UNKNOWN } from "./fields.js";
import type { ShellRedirect } from "./shell-program.js";
import { isStdin } from "./shells.js";
import type { Redirect } from "./tree.js";
import type { Context, Stdin } from "./walker.js";

/** A context after redirections, and those redirections. */
export interface Redirected {
  readonly context: Context;
  readonly own: readonly ShellRedirect[];
}

/** What redirections change for the command that has them; what stands in their targets runs. */
export function redirect(redirects: readonly Redirect[], outer: Context, expander: Expander): Redirected {
  if (redirects.length === 0) return { context: outer, own: [] };
  const own: ShellRedirect[] = [];
  const descriptors = new Map<string, Stdin>();
  let { stdin, reads } = outer;
  for (const { operator: written, target, body } of redirects) {
    const [, number = "", operator = ""] = /^(\d*)(.*)$/s.exec(written) ?? [];
    const { text, content } = readTarget(operator, target, body, expander);
    own.push({
      operator: written,
      target: known(operator.startsWith("<<-") || operator === "<<" ? delimiter(target) : text),
    });
    const input = inputOf(operator, text, content, descriptors);
    if (input === undefined) continue;
    if (number === "" || Number(number) === 0) stdin = input === "stdin" ? stdin : input;
    else if (input !== "stdin") descriptors.set(String(Number(number)), input);
    if (input !== "stdin" && input.kind === "content") reads = [...reads, ...input.content.from];
  }
  return { context: { ...outer, stdin, reads, redirects: [...outer.redirects, ...own] }, own };
}

function readTarget(
  operator: string,
  target: Redirect["target"],
  body: Redirect["body"],
  expander: Expander,
) {
  if (operator === "<<" || operator === "<<-") {
    return { text: body === undefined ? "" : expandValue(expander, body), content: undefined };
  }
  if (operator === "<<<") return { text: expandValue(expander, target), content: undefined };
  return processContent(expander, target);
}

/** What a redirection puts on its descriptor; "stdin": what is there already; undefined: it does not read. */
function inputOf(
  operator: string,
  text: string,
  content: Content | undefined,
  descriptors: ReadonlyMap<string, Stdin>,
): Stdin | "stdin" | undefined {
  switch (operator) {
    case "<<":
    case "<<-":
      return { kind: "content", via: "here-document", content: { text, from: [] } };
    case "<<<":
      return { kind: "content", via: "here-string", content: { text: `${text}\n`, from: [] } };
    case "<":
    case "<>":
      if (content !== undefined) return { kind: "content", via: "<(…)", content };
      return isStdin(text) ? "stdin" : { kind: "file", path: text };
    case "<&":
      if (/^0+-?$/.test(text)) return "stdin";
      // Another descriptor may hold anything.
      return (
        descriptors.get(text.replace(/-$/, "")) ?? {
          kind: "content",
          via: "<&",
          content: { text: undefined, from: [] },
        }
      );
    default:
      return undefined;
  }
}

/** A here-document's delimiter is not expanded. */
function delimiter(word: Redirect["target"]): string {
  return word.parts.map((part) => (part.kind === "text" ? part.text : UNKNOWN)).join("");
}

/** True when standard output goes to a file or to another descriptor. */
export function writesElsewhere(redirects: readonly ShellRedirect[]): boolean {
  return redirects.some(({ operator }) => /^(?:0*1?>|&>|0*1<>|\{)/.test(operator));
}
