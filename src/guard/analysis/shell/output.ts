import { unescapeBackslashes } from "./ansi-c.js";
import { type Field, isKnown } from "./fields.js";
import type { Stdin } from "./walker.js";

/** What a command prints, for the few whose output can be told; undefined for all others. */
export function outputOf(name: string, args: readonly Field[], stdin: Stdin): string | undefined {
  if (args.some((field) => field.pattern)) return undefined;
  const text = printed(
    name,
    args.map((field) => field.text),
    stdin,
  );
  // Shells leave NUL bytes out, or stop at them; what is no text is nothing that we can follow.
  return text === undefined || /[\0\ufffd]/.test(text) ? undefined : text;
}

function printed(name: string, words: readonly string[], stdin: Stdin): string | undefined {
  switch (name) {
    case "echo":
      return echo(words);
    case "printf":
      return printf(words);
    case "cat":
      return words.every((word) => word === "-") ? inputText(stdin) : undefined;
    case "base64":
      return words.length === 1 && /^(?:-d|-D|--decode)$/.test(words[0]!)
        ? decode(stdin, "base64")
        : undefined;
    case "xxd":
      return /^(?:-r -p|-p -r|-rp|-pr)$/.test(words.join(" ")) ? decode(stdin, "hex") : undefined;
    case "rev":
      return words.length === 0 ? reverse(inputText(stdin)) : undefined;
    case ":":
    case "true":
      return "";
    default:
      return undefined;
  }
}

function inputText(stdin: Stdin): string | undefined {
  return stdin.kind === "content" ? stdin.content.text : undefined;
}

/** Shells disagree about backslashes: with one of them the output is not known. */
function echo(words: readonly string[]): string | undefined {
  let index = 0;
  let newline = true;
  let escapes = false;
  for (; /^-[neE]+$/.test(words[index] ?? ""); index++) {
    newline &&= !words[index]!.includes("n");
    escapes ||= words[index]!.includes("e");
  }
  const text = words.slice(index).join(" ");
  if (text.includes("\\") && !escapes) return undefined;
  if (escapes && /\\c/.test(text)) return undefined;
  return (escapes ? unescapeBackslashes(shortOctal(text)) : text) + (newline ? "\n" : "");
}

/** `echo -e` writes octal numbers with a zero in front. */
function shortOctal(text: string): string {
  return text.replace(/\\(?:0([0-7]{1,3})|[\s\S])/g, (all, octal) =>
    octal === undefined ? all : `\\${octal}`,
  );
}

function printf(words: readonly string[]): string | undefined {
  const args = words[0] === "--" ? words.slice(1) : words;
  const format = args[0];
  if (format === undefined || format.startsWith("-") || !isKnown(format)) return undefined;
  const values = args.slice(1);
  if (/%[^sb%]/.test(format) || /\\c/.test(format)) return undefined;
  // %b reads backslashes in its value, %s does not.
  if (values.some((value) => value.includes("\\"))) return undefined;
  const takes = /%[sb]/.test(format.replaceAll("%%", ""));
  let text = "";
  let used = 0;
  do {
    text += unescapeBackslashes(format).replace(/%%|%[sb]/g, (all) =>
      all === "%%" ? "%" : (values[used++] ?? ""),
    );
    if (text.length > 65_536) return undefined;
  } while (takes && used < values.length);
  return text;
}

function decode(stdin: Stdin, encoding: "base64" | "hex"): string | undefined {
  const text = inputText(stdin);
  if (text === undefined || !isKnown(text)) return undefined;
  const compact = text.replace(/\s+/g, "");
  const valid = encoding === "base64" ? /^[A-Za-z0-9+/]*={0,2}$/ : /^[0-9a-fA-F]*$/;
  return valid.test(compact) ? Buffer.from(compact, encoding).toString("utf8") : undefined;
}

function reverse(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return text
    .split("\n")
    .map((line) => [...line].reverse().join(""))
    .join("\n");
}
