import { closeSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { extname, join } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import type { Config } from "./config.js";
import { DEFAULT_CONFIG } from "./defaults.js";
import type { Override } from "./overrides.js";

/** The largest file we read. */
const MAX_CONFIG_BYTES = 1024 * 1024;
/** A file that refers to one anchor more often than this is an attack, not a configuration. */
const MAX_YAML_ALIASES = 50;
const NAMES = ["config.json", "config.yaml", "config.yml"];

export interface LoadOptions {
  /** Left out: `~/.skerry/config.json`, `.yaml` or `.yml` if there is one. */
  readonly path?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
  /** Names of backends from outside, whose blocks under `sandbox.backends` are kept as they are. */
  readonly extraBackends?: readonly string[];
}

/** File, then environment. Anything invalid is an error, never a fallback to defaults. */
export async function loadConfig(options: LoadOptions = {}): Promise<Config> {
  const { env = process.env, home = homedir(), extraBackends = [] } = options;
  const file = options.path === undefined ? findFile(home) : readGiven(options.path);
  const overrides = overridesOf(env);
  // The schema's library takes longer to load than the rest of the command line: only when there is something to check.
  if (file === undefined && overrides.length === 0) return DEFAULT_CONFIG;
  const [input, { resolveConfig }, schema] = await Promise.all([
    file === undefined ? {} : parseText(file),
    import("./resolve.js"),
    import("./schema.js").then(({ loadConfigSchema }) => loadConfigSchema()),
  ]);
  return resolveConfig(input, { schema, source: file?.source ?? "environment", overrides, extraBackends });
}

interface ConfigFile {
  readonly source: string;
  readonly text: string;
}

function overridesOf(env: Readonly<Record<string, string | undefined>>): Override[] {
  const overrides: Override[] = [];
  for (const [variable, value] of Object.entries(env)) {
    if (value !== undefined && variable.startsWith("SKERRY_") && variable.includes("__")) {
      overrides.push({ variable, value });
    }
  }
  return overrides;
}

function findFile(home: string): ConfigFile | undefined {
  const found = NAMES.flatMap((name) => {
    const file = readFile(join(home, ".skerry", name), `~/.skerry/${name}`);
    return file === undefined ? [] : [file];
  });
  if (found.length > 1) {
    throw new SandboxError(
      "CONFIG_INVALID",
      `there are two configurations: ${found.map((each) => each.source).join(", ")}`,
      {
        hint: "Keep one of them.",
      },
    );
  }
  return found[0];
}

function readGiven(path: string): ConfigFile {
  const file = readFile(path, path);
  if (file !== undefined) return file;
  throw new SandboxError("FILE_NOT_FOUND", `${path}: there is no such configuration file`, {
    hint: "Check the path of the configuration.",
  });
}

/** Reads no more than the limit, so that a device or an endless pipe cannot fill the memory. */
function readFile(path: string, source: string): ConfigFile | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw unreadable(source, error);
  }
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const length = readSync(descriptor, chunk);
      if (length === 0) break;
      total += length;
      if (total > MAX_CONFIG_BYTES) {
        throw new SandboxError("CONFIG_INVALID", `${source}: larger than 1 MiB`, {
          hint: "A configuration file is a few kilobytes. Is this the right file?",
        });
      }
      chunks.push(chunk.subarray(0, length));
    }
    return { source, text: decodeUtf8(Buffer.concat(chunks), source) };
  } catch (error) {
    throw error instanceof SandboxError ? error : unreadable(source, error);
  } finally {
    closeSync(descriptor);
  }
}

function unreadable(source: string, cause: unknown): SandboxError {
  return new SandboxError(
    "CONFIG_INVALID",
    `${source}: cannot be read (${systemCode(cause) ?? "unknown error"})`,
    {
      hint: "Check that it is a file and that you may read it.",
      cause,
    },
  );
}

function decodeUtf8(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SandboxError("CONFIG_INVALID", `${source}: not UTF-8 text`, { cause });
  }
}

async function parseText(file: ConfigFile): Promise<unknown> {
  const extension = extname(file.source).toLowerCase();
  const isJson = extension === ".json" || (!/^\.ya?ml$/.test(extension) && /^\s*\{/.test(file.text));
  return isJson ? parseJson(file) : parseYaml(file);
}

/** The engine's own message quotes the text, which may hold a key: only the place is kept. */
function parseJson({ source, text }: ConfigFile): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec(String(error))?.[1];
    const at = position === undefined ? "" : ` at ${lineAndColumn(text, Number(position))}`;
    throw new SandboxError("CONFIG_INVALID", `${source}: not valid JSON${at}`, {
      hint: "Comments and trailing commas are not JSON; a .yaml file may have comments.",
    });
  }
}

async function parseYaml({ source, text }: ConfigFile): Promise<unknown> {
  const { parseDocument } = await import("yaml");
  const failed = (message: string, offset?: number) =>
    new SandboxError(
      "CONFIG_INVALID",
      `${source}: not valid YAML${offset === undefined ? "" : ` at ${lineAndColumn(text, offset)}`}: ${message}`,
    );
  try {
    const document = parseDocument(text, {
      schema: "core",
      resolveKnownTags: false,
      prettyErrors: false,
      logLevel: "error",
      stringKeys: true,
    });
    // An unknown tag is only a warning for the library.
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem !== undefined) throw failed(problem.message, problem.pos[0]);
    return document.toJS({ maxAliasCount: MAX_YAML_ALIASES }) ?? {};
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    throw failed(error instanceof Error ? error.message : String(error));
  }
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`;
}
