import { spawn } from "node:child_process";
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTooLongToRun } from "../../kit/code-limits.js";

/** How long an editor may take to put the terminal in order when it is told to go. */
const PATIENCE_MS = 2000;
const EXTENSIONS: Readonly<Record<string, string>> = {
  python: ".py",
  javascript: ".js",
  typescript: ".ts",
  bash: ".sh",
};

export interface EditOptions {
  readonly language: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Descriptors of the terminal; "inherit": those of this process. */
  readonly terminal: number | "inherit";
  readonly signal: AbortSignal;
}

/** The text as the person left it, or what went wrong. */
export type Edited = { readonly text: string } | { readonly problem: string };

/** Opens a text in the person's editor, in a private file that is gone afterwards. */
export async function editText(text: string, options: EditOptions): Promise<Edited> {
  const directory = mkdtempSync(join(tmpdir(), "skerry-edit-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    const language = options.language ?? "";
    const extension = Object.hasOwn(EXTENSIONS, language) ? EXTENSIONS[language] : ".txt";
    const file = join(directory, `code${extension}`);
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    const problem = await runEditor(file, options);
    return problem === undefined ? readEdited(file, text) : { problem };
  } finally {
    remove();
    process.off("exit", remove);
  }
}

function runEditor(file: string, { env, terminal, signal }: EditOptions): Promise<string | undefined> {
  const editor = env.VISUAL || env.EDITOR || "vi";
  return new Promise((resolve) => {
    // As a shell takes it, since people put arguments into these variables; in the shell's place, so that stopping the
    // one stops the other.
    const child = spawn("/bin/sh", ["-c", `exec ${editor} "$@"`, editor, file], {
      stdio: [terminal, terminal, terminal],
      env: { ...env },
    });
    let forcing: NodeJS.Timeout | undefined;
    const stop = () => {
      child.kill("SIGTERM");
      forcing = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    };
    signal.addEventListener("abort", stop);
    child.once("error", () => resolve("The editor could not be started"));
    child.once("exit", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      clearTimeout(forcing);
      if (code === 0) resolve(undefined);
      else if (code === 127) resolve("Editor not found: set VISUAL or EDITOR");
      else resolve(killedBy === null ? `The editor ended with status ${code}` : "The editor was stopped");
    });
  });
}

function readEdited(file: string, before: string): Edited {
  let text: string;
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(descriptor);
      if (!stat.isFile() || isTooLongToRun(stat.size)) return { problem: "The edited text is too long" };
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return { problem: "The edited file is missing or not UTF-8" };
  }
  if (text.trim() === "") return { problem: "The edited text is empty" };
  // Most editors end the last line, which the agent may not have done.
  if (text === before || text === `${before}\n`) return { problem: "Nothing was changed" };
  return { text };
}
