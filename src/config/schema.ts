import { z } from "zod";
import { toSandboxError } from "../errors.js";
import { type Config, type LimitsConfig, SANDBOX_MODES } from "./config.js";
import { DEFAULT_CONFIG, DEFAULT_LANGUAGE } from "./defaults.js";
import { MIB, parseDurationMs, parseSizeBytes } from "./units.js";

const defaults = DEFAULT_CONFIG.sandbox;

/** Turns what a parser throws into a problem of the field. */
function parsedBy<T extends string | number>(parse: (value: string | number) => T, what: string) {
  return z.union([z.string(), z.number()], { error: `expected ${what}` }).transform((value, context) => {
    try {
      return parse(value);
    } catch (error) {
      const { message, hint } = toSandboxError(error);
      context.addIssue({ code: "custom", message: hint === undefined ? message : `${message}. ${hint}` });
      return z.NEVER;
    }
  });
}

const durationMs = parsedBy(parseDurationMs, 'a duration such as "30s"');
const durationMsOrNever = z.union([z.literal("never").transform(() => null), durationMs], {
  error: (issue) => deepestMessage(issue) ?? 'expected a duration such as "30m", or "never"',
});
const sizeBytes = parsedBy(parseSizeBytes, 'a size such as "512mb"');
const sizeMb = sizeBytes.transform((bytes) => bytes / MIB);
const sizeOfMibMb = sizeMb.refine((mb) => mb >= 1, 'it must be at least "1mb"');

/** The message of the branch that came furthest, instead of "Invalid input". */
function deepestMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "invalid_union") return undefined;
  const branches = issue.errors as readonly (readonly z.core.$ZodIssue[])[];
  return branches.flat().find((each) => each.code === "custom")?.message;
}

const text = z
  .string()
  .min(1, "expected some text, not an empty string")
  .refine((value) => !value.includes("\0"), {
    error: "a NUL character is not allowed",
  });
const count = (least: number) => z.number().int().min(least).max(1_000_000_000);
const list = <T extends z.ZodType>(item: T) => z.array(item).max(10_000);
/** Arrays of the defaults are frozen; the schema hands out copies. */
const listOfText = (initial: readonly string[]) => list(text).default(() => [...initial]);

const relativePath = text.refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), {
  error: "expected a path inside the source directory: relative and without ..",
});
const absolutePath = text.refine((path) => path.startsWith("/"), { error: "expected an absolute path" });

/** One that means the same file whatever the current directory is. */
const fixedPath = text.refine((path) => path.startsWith("/") || path.startsWith("~/"), {
  error: "expected an absolute path, or one that starts with ~/",
});

const LABEL = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?";
const DOMAIN = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`, "i");
const domain = text.refine((name) => name.length <= 255 && DOMAIN.test(name), {
  error: 'expected a domain such as "example.com" or "*.example.com", without scheme, port or path',
});
const allowedDomain = domain.refine((name) => !name.startsWith("*.") || name.split(".").length > 2, {
  error: "a wildcard for a whole top-level domain is too wide",
});
const deniedDomain = z.union([z.literal("*"), domain], {
  error: 'expected a domain such as "example.com", "*.example.com" or "*"',
});
const domainLists = {
  allowedDomains: list(allowedDomain).default(() => []),
  deniedDomains: list(deniedDomain).default(() => []),
};

const network = z.strictObject({
  ...domainLists,
  allowLocalBinding: z.boolean().default(defaults.network.allowLocalBinding),
});

const filesystem = z.strictObject({
  allowRead: listOfText(defaults.filesystem.allowRead),
  denyRead: listOfText(defaults.filesystem.denyRead),
  allowWrite: listOfText(defaults.filesystem.allowWrite),
  denyWrite: listOfText(defaults.filesystem.denyWrite),
});

const runtime = z
  .strictObject({
    cleanupOnExit: z.boolean().default(defaults.runtime.cleanupOnExit),
    timeout: durationMs.default(defaults.runtime.timeoutMs),
    idleTimeout: durationMsOrNever.default(defaults.runtime.idleTimeoutMs),
    maxAge: durationMsOrNever.default(defaults.runtime.maxAgeMs),
  })
  .transform(({ cleanupOnExit, timeout, idleTimeout, maxAge }) => ({
    cleanupOnExit,
    timeoutMs: timeout,
    idleTimeoutMs: idleTimeout,
    maxAgeMs: maxAge,
  }));

const limits = z
  .strictObject({
    memory: sizeOfMibMb.optional(),
    cpus: z.number().min(0.01).max(4096).optional(),
    pids: count(1).optional(),
    openFiles: count(16).optional(),
    fileSize: sizeMb.optional(),
    workspace: sizeOfMibMb.optional(),
    workspaceInodes: count(16).optional(),
    tmp: sizeMb.optional(),
    output: sizeBytes.optional(),
  })
  .transform(
    ({ memory, cpus, pids, openFiles, fileSize, workspace, workspaceInodes, tmp, output }): LimitsConfig => ({
      ...(memory !== undefined && { memoryMb: memory }),
      ...(cpus !== undefined && { cpus }),
      ...(pids !== undefined && { pids }),
      ...(openFiles !== undefined && { openFiles }),
      ...(fileSize !== undefined && { fileSizeMb: fileSize }),
      ...(workspace !== undefined && { workspaceMb: workspace }),
      ...(workspaceInodes !== undefined && { workspaceInodes }),
      ...(tmp !== undefined && { tmpMb: tmp }),
      ...(output !== undefined && { outputBytes: output }),
    }),
  );

const language = z.strictObject({
  warm: z.boolean().default(DEFAULT_LANGUAGE.warm),
  preload: list(text.regex(/^[\w@][\w@./-]*$/, "expected a module's name")).default(() => []),
  freshHashSeed: z.boolean().default(DEFAULT_LANGUAGE.freshHashSeed),
});
const languageName = z.string().regex(/^[a-z][a-z0-9+#_-]*$/, "expected a language's name in lower case");

const bubblewrap = z.strictObject({
  path: absolutePath.optional(),
  uidRange: z
    .strictObject({
      start: z
        .number()
        .int()
        .min(65_536)
        .max(4_294_000_000)
        .default(defaults.backends.bubblewrap.uidRange.start),
      count: z.number().int().min(1).max(16_777_216).default(defaults.backends.bubblewrap.uidRange.count),
    })
    .refine(({ start, count: size }) => start + size <= 4_294_967_294, {
      error: "the range goes beyond 32 bits",
    })
    .prefault({}),
});

const docker = z.strictObject({
  image: text.default(defaults.backends.docker.image),
  networkMode: text
    .regex(/^[a-z0-9][\w.-]*$/i, 'expected "none", "bridge" or the name of a network')
    .refine((mode) => mode !== "host", { error: '"host" would give the sandbox the network of this machine' })
    .default(defaults.backends.docker.networkMode),
});

const serverUrl = z.url({ protocol: /^https?$/, error: "expected an http or https address" });
const quantity = text.regex(
  /^\d+(\.\d+)?([munkMGTPE]|[KMGTPE]i)?$/,
  'expected a quantity such as "500m" or "1Gi"',
);
const opensandboxDefaults = defaults.backends.opensandbox;
const server = (initial: { serverUrl: string; apiKey: string; defaultImage: string }) => ({
  serverUrl: serverUrl.default(initial.serverUrl),
  apiKey: z.string().default(initial.apiKey),
  defaultImage: text.default(initial.defaultImage),
});
const opensandbox = z.strictObject({
  mode: z.enum(["local", "vke"]).default(opensandboxDefaults.mode),
  local: z.strictObject(server(opensandboxDefaults.local)).prefault({}),
  vke: z
    .strictObject({
      ...server(opensandboxDefaults.vke),
      namespace: text.default(opensandboxDefaults.vke.namespace),
      kubeconfigPath: text.default(opensandboxDefaults.vke.kubeconfigPath),
      tos: z
        .strictObject({
          enabled: z.boolean().default(opensandboxDefaults.vke.tos.enabled),
          mountPath: absolutePath.default(opensandboxDefaults.vke.tos.mountPath),
          pvcName: text.default(opensandboxDefaults.vke.tos.pvcName),
        })
        .prefault({}),
    })
    .prefault({}),
  network: z.strictObject(domainLists).prefault({}),
  runtime: z
    .strictObject({
      timeout: durationMs.default(opensandboxDefaults.runtime.timeoutMs),
      cpu: quantity.default(opensandboxDefaults.runtime.cpu),
      memory: quantity.default(opensandboxDefaults.runtime.memory),
    })
    .transform(({ timeout, cpu, memory }) => ({ timeoutMs: timeout, cpu, memory }))
    .prefault({}),
});

const workspace = z.strictObject({
  source: text.optional(),
  initDirectory: relativePath.default(defaults.workspace.initDirectory),
  bootstrapFiles: list(relativePath).default(() => [...defaults.workspace.bootstrapFiles]),
});

const confirmation = z
  .strictObject({ timeout: durationMs.default(defaults.confirmation.timeoutMs) })
  .transform(({ timeout }) => ({ timeoutMs: timeout }));

const audit = z
  .strictObject({
    enabled: z.boolean().default(defaults.audit.enabled),
    directory: text.optional(),
    fsync: z.enum(["always", "interval", "never"]).default(defaults.audit.fsync),
    includeCode: z.boolean().default(defaults.audit.includeCode),
    maxFile: sizeOfMibMb.default(defaults.audit.maxFileMb),
    keepFiles: count(1).optional(),
  })
  .transform(({ maxFile, ...rest }) => ({ ...rest, maxFileMb: maxFile }));

/** The whole file. `sandbox.opensandbox` is folded into `sandbox.backends.opensandbox` before it gets here. */
export const configSchema = z.strictObject({
  sandbox: z
    .strictObject({
      enabled: z.boolean().default(defaults.enabled),
      backend: text.default(defaults.backend),
      mode: z.enum(SANDBOX_MODES).default(defaults.mode),
      stateDir: text.optional(),
      network: network.prefault({}),
      filesystem: filesystem.prefault({}),
      runtime: runtime.prefault({}),
      limits: limits.prefault({}),
      languages: z.record(languageName, language).default(() => ({})),
      backends: z
        .strictObject({
          bubblewrap: bubblewrap.prefault({}),
          srt: z
            .strictObject({ settingsPath: text.default(defaults.backends.srt.settingsPath) })
            .prefault({}),
          docker: docker.prefault({}),
          opensandbox: opensandbox.prefault({}),
        })
        .prefault({}),
      workspace: workspace.prefault({}),
      policy: z.strictObject({ file: fixedPath.optional(), role: text.optional() }).prefault({}),
      securityMode: z.enum(["strict", "permissive"]).optional(),
      confirmation: confirmation.prefault({}),
      audit: audit.prefault({}),
    })
    .prefault({}),
});

type ParsedConfig = z.output<typeof configSchema>;

/** Optional fields of zod may hold undefined for the compiler; parsed JSON and YAML never do. */
type WithoutUndefined<T> = T extends readonly unknown[] | string | number | boolean | null
  ? T
  : { [K in keyof T]: WithoutUndefined<Exclude<T[K], undefined>> };

/** What the schema makes of a valid file, as the interface that the rest of the code knows. */
export function asConfig(parsed: ParsedConfig): Config {
  return parsed as WithoutUndefined<ParsedConfig>;
}
