import { isIP } from "node:net";
import { z } from "zod";
import { defined } from "../../kit/defined.js";
import {
  allowedNameComplaint,
  allowedRangeComplaint,
  coversDomain,
  HOST_SERVICES,
  loopbackComplaint,
  rangeComplaint,
} from "../../kit/hosts.js";
import {
  allowedDomain,
  checkedText,
  domainLists,
  durationMs,
  languageName,
  list,
  parsedBy,
  text,
} from "../../kit/schema-fields.js";
import { MIB, parseSizeBytes } from "../../kit/units.js";
import { type LimitsConfig, loadBackendSchemas } from "../../runtime/backends/index.js";
import { CLIENT_NAMES, SECRET_LOCATIONS } from "../../runtime/egress/index.js";
import { type Config, LOG_LEVELS, SANDBOX_MODES } from "./config.js";
import { DEFAULT_CONFIG, DEFAULT_LANGUAGE_CONFIG, DEFAULT_SECRET_LOCATIONS } from "./defaults.js";

const defaults = DEFAULT_CONFIG.sandbox;

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

const count = (least: number) => z.number().int().min(least).max(1_000_000_000);
/** Arrays of the defaults are frozen; the schema hands out copies. */
const listOfText = (initial: readonly string[]) => list(text).default(() => [...initial]);

const relativePath = text.refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), {
  error: "expected a path inside the source directory: relative and without ..",
});

/** One that means the same file whatever the current directory is. */
const fixedPath = text.refine((path) => path.startsWith("/") || path.startsWith("~/"), {
  error: "expected an absolute path, or one that starts with ~/",
});

/** Lists of the environment hold text. */
const port = z.preprocess(
  (value) => (typeof value === "string" && /^[1-9]\d{0,4}$/.test(value) ? Number(value) : value),
  z.number({ error: "expected a port from 1 to 65535" }).int().min(1).max(65_535),
);
const method = text
  .regex(/^[A-Z][A-Z-]{0,31}$/, 'expected a method in upper case such as "GET"')
  .refine((name) => name !== "CONNECT", {
    error: "CONNECT opens a tunnel, in which requests cannot be told apart",
  });
/** Compared with the path that a server reads: decoded and without `..`. */
const pathGlob = text
  .max(1024)
  .refine((glob) => glob.startsWith("/") && !/[%?#\\\s]|\/\/|\/\.{1,2}(?:\/|$)/.test(glob), {
    error: 'expected a path such as "/v1/*" or "/files/**", decoded, without a query, "//" and ".."',
  });
const request = z.strictObject({
  host: checkedText(
    (host) =>
      loopbackComplaint(host) ?? (isIP(host) === 0 ? allowedNameComplaint(host) : rangeComplaint(host)),
  ),
  ports: list(port).min(1).optional(),
  methods: list(method).min(1).optional(),
  paths: list(pathGlob).min(1).optional(),
});

const networkFields = z.strictObject({
  ...domainLists,
  allowedIps: list(checkedText(allowedRangeComplaint)).default(() => []),
  deniedIps: list(checkedText(rangeComplaint)).default(() => []),
  allowedPorts: list(port).default(() => [...defaults.network.allowedPorts]),
  deniedPorts: list(port).default(() => []),
  requests: list(request).default(() => []),
  upstreamCa: fixedPath.optional(),
  limits: z
    .strictObject({
      connections: count(1).max(10_000).default(defaults.network.limits.connections),
      bytes: sizeBytes.optional(),
      idle: durationMs.default(defaults.network.limits.idleMs),
    })
    .transform(({ idle, ...rest }) => ({ ...rest, idleMs: idle }))
    .prefault({}),
  allowLocalBinding: z.boolean().default(defaults.network.allowLocalBinding),
  allow: list(z.enum(CLIENT_NAMES)).default(() => []),
  internet: z.boolean().default(defaults.network.internet),
});

/** What is allowed in whole would make the narrower entry mean nothing. */
const network = networkFields.superRefine(({ allowedDomains, allowedPorts, requests }, context) => {
  for (const [index, { host, ports, methods, paths }] of requests.entries()) {
    if (host.toLowerCase() === HOST_SERVICES && ports === undefined) {
      const message = "this name is for some ports of this host: name them in ports";
      context.addIssue({ code: "custom", path: ["requests", index, "host"], message });
    }
    if (methods === undefined && paths === undefined) continue;
    if (ports !== undefined && !ports.some((each) => allowedPorts.includes(each))) continue;
    const wider = allowedDomains.find((domain) => coversDomain(domain, host));
    if (wider === undefined) continue;
    const message = `allowedDomains has ${JSON.stringify(wider)}, which allows every request to this host: name it in one of the two`;
    context.addIssue({ code: "custom", path: ["requests", index, "host"], message });
  }
});

const variableName = text.max(64).regex(/^[A-Za-z_]\w*$/, "expected the name of a variable");
const secrets = z
  .record(
    variableName,
    z
      .strictObject({
        hosts: list(allowedDomain).min(1, "expected one host at least"),
        env: variableName.optional(),
        file: fixedPath.optional(),
        in: list(z.enum(SECRET_LOCATIONS))
          .min(1)
          .default(() => [...DEFAULT_SECRET_LOCATIONS]),
      })
      .refine(({ env, file }) => env === undefined || file === undefined, {
        error: "expected env or file, not both",
      }),
  )
  .default(() => ({}))
  .transform((named) =>
    Object.fromEntries(
      Object.entries(named).map(([name, secret]) => [
        name,
        secret.file === undefined ? { ...secret, env: secret.env ?? name } : secret,
      ]),
    ),
  );

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
      ...defined({ memoryMb: memory, cpus, pids, openFiles, fileSizeMb: fileSize, workspaceMb: workspace }),
      ...defined({ workspaceInodes, tmpMb: tmp, outputBytes: output }),
    }),
  );

const language = z.strictObject({
  warm: z.boolean().default(DEFAULT_LANGUAGE_CONFIG.warm),
  preload: list(text.regex(/^[\w@][\w@./-]*$/, "expected a module's name")).default(() => []),
  freshHashSeed: z.boolean().default(DEFAULT_LANGUAGE_CONFIG.freshHashSeed),
});

const workspace = z.strictObject({
  source: text.optional(),
  initDirectory: relativePath.default(defaults.workspace.initDirectory),
  bootstrapFiles: list(relativePath).default(() => [...defaults.workspace.bootstrapFiles]),
});

const snapshots = z
  .strictObject({
    maxBytes: sizeBytes.default(defaults.snapshots.maxBytes),
    maxFiles: count(1).default(defaults.snapshots.maxFiles),
    maxStored: sizeBytes.default(defaults.snapshots.maxStoredBytes),
  })
  .transform(({ maxStored, ...rest }) => ({ ...rest, maxStoredBytes: maxStored }));

const projects = z.strictObject({
  maxBytes: sizeBytes.default(defaults.projects.maxBytes),
  maxFiles: count(1).default(defaults.projects.maxFiles),
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

const serverDefaults = DEFAULT_CONFIG.server;
const hostName = text.regex(/^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])$/, {
  error: 'expected a host in lower case and without a port, such as "skerry.example.com" or "[2001:db8::7]"',
});
/** As browsers write it: nothing else would ever be equal. */
const origin = text.refine((value) => URL.canParse(value) && new URL(value).origin === value, {
  error: 'expected an origin such as "https://console.example.com": scheme, host and port only',
});
/** Where the other servers reach this one. */
const peerUrl = origin.refine((value) => /^https?:/.test(value), {
  error: 'expected an address such as "https://skerry-1.example.com:7070"',
});
const serverPool = z
  .strictObject({
    maxInstances: count(1).max(65_536).optional(),
    minInstances: count(0).max(65_536).optional(),
    preload: list(languageName).default(() => [...serverDefaults.pool.preload]),
    maxUses: count(0).default(serverDefaults.pool.maxUses),
    maxAge: durationMs.default(serverDefaults.pool.maxAgeMs),
    acquireTimeout: durationMs.default(serverDefaults.pool.acquireTimeoutMs),
  })
  .superRefine(({ maxInstances, minInstances }, context) => {
    if (minInstances === undefined || minInstances <= (maxInstances ?? -1)) return;
    const message =
      maxInstances === undefined
        ? "it means nothing without maxInstances, which makes the pool"
        : `it is more than maxInstances, which is ${maxInstances}`;
    context.addIssue({ code: "custom", path: ["minInstances"], message });
  })
  .transform(({ maxAge, acquireTimeout, ...rest }) => ({
    ...rest,
    maxAgeMs: maxAge,
    acquireTimeoutMs: acquireTimeout,
  }));
const server = z
  .strictObject({
    host: text
      .refine((host) => host === "localhost" || isIP(host) !== 0, {
        error: 'expected an address of this machine such as "127.0.0.1", or "localhost"',
      })
      .default(serverDefaults.host),
    port: z
      .preprocess(
        (value) => (typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : value),
        z.number({ error: "expected a port from 0 to 65535" }).int().min(0).max(65_535),
      )
      .default(serverDefaults.port),
    hosts: list(hostName).default(() => []),
    origins: list(origin).default(() => []),
    tls: z.strictObject({ cert: fixedPath, key: fixedPath }).optional(),
    insecure: z.boolean().default(serverDefaults.insecure),
    store: text.optional(),
    url: peerUrl.optional(),
    peerCa: fixedPath.optional(),
    lease: durationMs
      .refine((ms) => ms >= 5000 && ms <= 3_600_000, 'it must be from "5s" to "1h"')
      .default(serverDefaults.leaseMs),
    limits: z
      .strictObject({
        body: sizeBytes
          .refine((bytes) => bytes >= 1024 && bytes <= 2 ** 30, 'it must be from "1kb" to "1gb"')
          .default(serverDefaults.limits.bodyBytes),
        concurrency: count(1).default(serverDefaults.limits.concurrency),
        requestsPerMinute: count(1).default(serverDefaults.limits.requestsPerMinute),
      })
      .transform(({ body, ...rest }) => ({ ...rest, bodyBytes: body }))
      .prefault({}),
    sessions: z
      .strictObject({
        ttl: durationMsOrNever.default(serverDefaults.sessions.ttlMs),
        maxPerOrg: count(1).default(serverDefaults.sessions.maxPerOrg),
        startAhead: count(0).max(1000).default(serverDefaults.sessions.startAhead),
      })
      .transform(({ ttl, ...rest }) => ({ ...rest, ttlMs: ttl }))
      .prefault({}),
    pool: serverPool.prefault({}),
    processes: z
      .strictObject({
        perSession: count(1).max(256).default(serverDefaults.processes.perSession),
        logs: sizeBytes
          .refine((bytes) => bytes >= 2 ** 20, 'it must be at least "1mb"')
          .default(serverDefaults.processes.logBytes),
      })
      .transform(({ logs, ...rest }) => ({ ...rest, logBytes: logs }))
      .prefault({}),
    terminals: z
      .strictObject({ detached: durationMs.default(serverDefaults.terminals.detachedMs) })
      .transform(({ detached }) => ({ detachedMs: detached }))
      .prefault({}),
    mcp: z
      .strictObject({
        sessionsPerKey: count(1).default(serverDefaults.mcp.sessionsPerKey),
        idle: durationMs.default(serverDefaults.mcp.idleMs),
      })
      .transform(({ idle, ...rest }) => ({ ...rest, idleMs: idle }))
      .prefault({}),
    stopDeadline: durationMs.default(serverDefaults.stopDeadlineMs),
    logs: z.strictObject({ level: z.enum(LOG_LEVELS).default(serverDefaults.logs.level) }).prefault({}),
  })
  .transform(({ stopDeadline, lease, ...rest }) => ({
    ...rest,
    stopDeadlineMs: stopDeadline,
    leaseMs: lease,
  }));

/** The whole file. A block of a backend right under `sandbox` is moved under `backends` before it gets here. */
export async function loadConfigSchema() {
  return z.strictObject({
    sandbox: z
      .strictObject({
        enabled: z.boolean().default(defaults.enabled),
        backend: text.default(defaults.backend),
        mode: z.enum(SANDBOX_MODES).default(defaults.mode),
        stateDir: text.optional(),
        network: network.prefault({}),
        secrets,
        filesystem: filesystem.prefault({}),
        runtime: runtime.prefault({}),
        limits: limits.prefault({}),
        languages: z.record(languageName, language).default(() => ({})),
        backends: z.strictObject(await loadBackendSchemas()).prefault({}),
        workspace: workspace.prefault({}),
        snapshots: snapshots.prefault({}),
        projects: projects.prefault({}),
        policy: z.strictObject({ file: fixedPath.optional(), role: text.optional() }).prefault({}),
        securityMode: z.enum(["strict", "permissive"]).optional(),
        confirmation: confirmation.prefault({}),
        audit: audit.prefault({}),
      })
      .prefault({}),
    server: server.prefault({}),
  });
}

export type ConfigSchema = Awaited<ReturnType<typeof loadConfigSchema>>;
type ParsedConfig = z.output<ConfigSchema>;

/** Optional fields of zod may hold undefined for the compiler; parsed JSON and YAML never do. */
type WithoutUndefined<T> = T extends readonly (infer Item)[]
  ? WithoutUndefined<Item>[]
  : T extends string | number | boolean | null
    ? T
    : { [K in keyof T]: WithoutUndefined<Exclude<T[K], undefined>> };

/** What the schema makes of a valid file, as the interface that the rest of the code knows. */
export function asConfig(parsed: ParsedConfig): Config {
  return parsed as WithoutUndefined<ParsedConfig>;
}
