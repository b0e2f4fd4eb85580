import { extname } from "node:path";
import { SandboxError, toSandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { needsModuleSyntax } from "./module-syntax.js";

/** A language the sandbox can run. Adding one is adding an entry to LANGUAGES. */
export interface Language {
  readonly name: string;
  readonly aliases: readonly string[];
  /** The first is what a program without a name gets. */
  readonly extensions: readonly string[];
  /** Another extension that this very code needs; undefined: the first. */
  extensionFor?(code: string): string | undefined;
  /** The program to look for inside, and what to install when it is not there. */
  readonly interpreter: string;
  readonly install: string;
  /** Arguments that start a program the plain way. `runtime` is where the guest's runners are inside. */
  command(path: string, runtime: string): readonly string[];
  readonly warm?: WarmLanguage;
}

/** How an interpreter is kept started. */
export interface WarmLanguage {
  readonly kind: "fork" | "single";
  command(runtime: string, preload: readonly string[]): readonly string[];
  /** Variables that only act when an interpreter starts: a program that sets one gets a fresh interpreter. */
  readonly startupVariables: RegExp;
}

const NODE_STARTUP_VARIABLES =
  /^(?:NODE_(?!PATH$)\w+|UV_\w+|SSL_\w+|OPENSSL_\w+|LD_\w+|MALLOC_\w+|GLIBC_\w+|LC_\w+|LANG)$/;

export const LANGUAGES: readonly Language[] = [
  {
    name: "python",
    aliases: ["py", "python3"],
    extensions: [".py"],
    interpreter: "python3",
    install: "apt-get install python3",
    command: (path) => ["python3", path],
    warm: {
      kind: "fork",
      command: (runtime, preload) => [
        // Without the user's site: its files are the session's, and would run outside of any command.
        ...["python3", "-s", `${runtime}/python/zygote/python-zygote.py`],
        JSON.stringify({ preload, standbys: 1 }),
      ],
      startupVariables:
        /^(?:PYTHON(?!PATH$|IOENCODING$|UNBUFFERED$)\w*|LD_\w+|MALLOC_\w+|LC_\w+|LANG|LANGUAGE)$/,
    },
  },
  {
    name: "javascript",
    aliases: ["js", "node"],
    extensions: [".js", ".mjs", ".cjs"],
    extensionFor: (code) => (needsModuleSyntax(code) ? ".mjs" : undefined),
    interpreter: "node",
    install: "apt-get install nodejs",
    command: (path) => ["node", path],
    warm: {
      kind: "single",
      command: (runtime) => [
        "node",
        "--require",
        `${runtime}/javascript/programs/node-runner.cjs`,
        `${runtime}/javascript/programs/node-runner.cjs`,
      ],
      startupVariables: NODE_STARTUP_VARIABLES,
    },
  },
  {
    name: "typescript",
    aliases: ["ts"],
    extensions: [".ts", ".mts", ".cts", ".tsx"],
    interpreter: "node",
    install: "apt-get install nodejs",
    command: (path, runtime) => [
      "node",
      "--require",
      `${runtime}/javascript/programs/typescript-hooks.cjs`,
      path,
    ],
    warm: {
      kind: "single",
      command: (runtime) => [
        ...["node", "--require", `${runtime}/javascript/programs/typescript-hooks.cjs`],
        ...[
          "--require",
          `${runtime}/javascript/programs/node-runner.cjs`,
          `${runtime}/javascript/programs/node-runner.cjs`,
        ],
      ],
      startupVariables: NODE_STARTUP_VARIABLES,
    },
  },
  {
    name: "bash",
    aliases: ["sh", "shell"],
    extensions: [".sh", ".bash"],
    interpreter: "bash",
    install: "apt-get install bash",
    command: (path) => ["bash", path],
  },
];

export const languageNames: readonly string[] = LANGUAGES.map((language) => language.name);

/** The language of that name or alias; an unknown one is an error that lists the known. */
export function findLanguage(name: string): Language {
  const wanted = name.toLowerCase();
  const found = LANGUAGES.find((language) => language.name === wanted || language.aliases.includes(wanted));
  if (found !== undefined) return found;
  throw new SandboxError("LANGUAGE_UNKNOWN", `Unknown language ${JSON.stringify(name)}`, {
    hint: `Known languages: ${languageNames.join(", ")}.`,
  });
}

/** The language that a file's name says, or undefined. */
export function languageForFile(path: string): Language | undefined {
  const extension = extname(path).toLowerCase();
  return LANGUAGES.find((language) => language.extensions.includes(extension));
}

/** The error of a language whose interpreter is missing, on this host or in the image. */
export function languageUnavailable(language: Language, cause: unknown, image?: string): SandboxError {
  return new SandboxError(
    "LANGUAGE_UNAVAILABLE",
    `There is no ${language.interpreter} inside the sandbox to run ${language.name}`,
    {
      hint:
        image === undefined
          ? `Install it where the sandbox can see it (below /usr): ${language.install}`
          : `The image ${escapeUnsafe(image)} has no ${language.interpreter}: add it, or set backends.docker.images.${language.name} to one that has it.`,
      cause,
    },
  );
}

/** The same when a program's interpreter was not found; every other error stays as it is. */
export function explainMissingCommand(language: Language, error: unknown, image?: string): unknown {
  if (toSandboxError(error).code !== "COMMAND_NOT_FOUND") return error;
  return languageUnavailable(language, error, image);
}

/** Names the image that a command is missing in; everything else stays as it is. */
export function commandUnavailable(error: unknown, image: string | undefined): unknown {
  if (image === undefined || !(error instanceof SandboxError) || error.code !== "COMMAND_NOT_FOUND")
    return error;
  return new SandboxError(error.code, error.message, {
    hint: `It must be in the image ${escapeUnsafe(image)}, or in the workspace. It is looked up in PATH inside; a script also needs the interpreter that its first line names.`,
    cause: error,
  });
}
