import { writeFile } from "node:fs/promises";
import type { Paint } from "../../../guard/confirmation/index.js";
import {
  checkPolicy,
  POLICY_PRESETS,
  type PolicyPreset,
  type PolicyProblem,
  parsePolicy,
  readPolicyText,
} from "../../../guard/policy/index.js";
import { SandboxError, systemCode, toSandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { GlobalOptions } from "../../definition/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";

export interface InitOptions extends GlobalOptions {
  readonly output?: string;
  readonly force?: boolean;
  readonly preset?: PolicyPreset;
}

/** `skerry policy init`: a commented policy, printed or written to a file. */
export async function init({ output, force = false, preset = "dev" }: InitOptions): Promise<number> {
  const text = POLICY_PRESETS[preset];
  if (output === undefined) await stdout.write(text);
  else await writePolicy(output, text, force);
  return 0;
}

async function writePolicy(file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: force ? "w" : "wx" });
  } catch (cause) {
    const code = systemCode(cause);
    if (code === "EEXIST") {
      throw new SandboxError("FILE_EXISTS", `${file} exists already`, {
        hint: "Choose another name, or write over it with --force.",
        cause,
      });
    }
    throw new SandboxError("FILE_FAILED", `${file} cannot be written (${code ?? String(cause)})`, { cause });
  }
}

/** What is known of one file after it was checked. */
interface Checked {
  readonly file: string;
  readonly valid: boolean;
  readonly problems: readonly PolicyProblem[];
  readonly tools?: number;
  readonly roles?: number;
}

/** `skerry policy check`: every problem of every file. */
export async function check(
  files: readonly string[],
  options: GlobalOptions & { readonly json?: boolean },
): Promise<number> {
  const checked: Checked[] = [];
  for (const file of files) checked.push(await checkFile(file, files.length > 1));
  const paint = paintFor(stdout, options.color);
  await stdout.write(
    options.json ? `${jsonText(checked)}\n` : checked.map((each) => describeChecked(each, paint)).join(""),
  );
  return checked.every(({ valid }) => valid) ? 0 : INVALID;
}

const INVALID = new SandboxError("POLICY_INVALID", "").exitStatus;

/** One of several that cannot be read does not keep the others from being checked. */
async function checkFile(file: string, isOneOfMany: boolean): Promise<Checked> {
  try {
    return checkText(await readPolicyText(file), file);
  } catch (error) {
    if (!isOneOfMany) throw error;
    const { message, hint } = toSandboxError(error);
    const said = message.startsWith(`${file}: `) ? message.slice(file.length + 2) : message;
    return {
      file,
      valid: false,
      problems: [{ line: 1, column: 1, path: "", message: said, ...(hint && { hint }) }],
    };
  }
}

function checkText(text: string, file: string): Checked {
  const problems = checkPolicy(text, file);
  if (problems.length > 0) return { file, valid: false, problems };
  const { tools, roles } = parsePolicy(text, file);
  return { file, valid: true, problems, tools: tools.size, roles: roles.size };
}

function describeChecked({ file, problems, tools = 0, roles = 0 }: Checked, paint: Paint): string {
  if (problems.length === 0) {
    return `${escapeUnsafe(file)}: ${paint("green", "valid")}: ${count(tools, "tool")}, ${count(roles, "role")}\n`;
  }
  return problems
    .map(({ line, column, path, message, hint }) => {
      const where = `${escapeUnsafe(file)}:${line}:${column}: `;
      const what = path === "" ? escapeUnsafe(message) : `${escapeUnsafe(path)}: ${escapeUnsafe(message)}`;
      return `${where}${paint("red", what)}\n${hint === undefined ? "" : `  hint: ${escapeUnsafe(hint)}\n`}`;
    })
    .join("");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
