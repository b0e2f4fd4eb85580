import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import type { Config, ServerPoolConfig } from "../../core/config/index.js";
import { chooseBackend, SandboxManager } from "../../core/manager/index.js";
import { createMetrics, type Metrics, SandboxMonitor } from "../../core/metrics/index.js";
import type { AuditLogger } from "../../guard/audit/index.js";
import type { Policy } from "../../guard/policy/index.js";
import { defined } from "../../kit/defined.js";
import { SandboxError, systemCode, toSandboxError } from "../../kit/errors.js";
import { stateDirectoryOf } from "../../kit/state-directory.js";
import { checkBackendName } from "../../runtime/backends/index.js";
import { egressRulesOfDomains } from "../../runtime/egress/index.js";
import { PoolManager } from "../../runtime/pool/index.js";
import { findLanguage } from "../../runtime/sandbox/index.js";
import { ApprovalService } from "../approvals/index.js";
import { AuditIndexer } from "../audit/index.js";
import { checkPeerAddress, FencedLease, type LeaseTimes, leaseTimes, urlFrom } from "../cluster/index.js";
import type { LogStream } from "../http/index.js";
import { checkAddress, logError } from "../http/index.js";
import { RecentEvents } from "../status/index.js";
import type { CreatedApiKey } from "../store/index.js";
import { AsyncDisposableStack } from "./async-disposable-stack.js";
import { openConfiguredStore } from "./configured-store.js";
import { createServer, type Server } from "./create-server.js";
import { forgetOld, PeriodicJobs } from "./periodic-jobs.js";
import { recover } from "./recover.js";
import { lockServerDirectory } from "./server-directory.js";

export interface ServeOptions {
  readonly config: Config;
  /** "auto", or a backend's name. Wins over the configuration's. */
  readonly backend?: string | undefined;
  /** What agents may do. Left out: everything. */
  readonly policyFile?: string | undefined;
  /** Remembers every call. The caller closes it. */
  readonly audit?: AuditLogger | undefined;
  readonly auditDirectory?: string | undefined;
  /** Where the log goes; left out: nowhere. */
  readonly log?: LogStream | undefined;
  /**
   * Called when the sandboxes have not stopped by the time that other servers may declare this one dead, or long after a stop's
   * deadline: end the process.
   */
  readonly onOverdue?: (() => void) | undefined;
}

/** A server that listens. */
export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  /** The first key of all, where this start made it: to be shown once. */
  readonly firstKey: CreatedApiKey | undefined;
  /** Resolves when the lease is lost, and the server has stopped by itself, to the reason. */
  readonly lost: Promise<SandboxError>;
  /** For messages of the process itself. */
  readonly log: ServerLog;
  /** Takes no new work, lets what runs end until the deadline, and cleans up. Idempotent. */
  close(): Promise<void>;
  /** The same. */
  stop(): Promise<void>;
}

/** Lines of the server's log. */
export interface ServerLog {
  warn(fields: object, words: string): void;
  fatal(fields: object, words: string): void;
}

/** Where keys are made by hand, too. */
const DEFAULT_ORG = "default";
/** The least time for a stop after the lease is lost. */
const LEAST_STOP_MS = 5000;
/** For a stop, after its deadline. */
const CLEAN_UP_MS = 60_000;
const SWEEP_MS = 5000;
const INDEX_MS = 2000;
/** How long records of what has ended are kept. */
const KEEP_MS = 30 * 24 * 3_600_000;
const PRUNE_MS = 3_600_000;
/** How long a decided approval request can still be read. */
const FORGET_MS = 60_000;

/** Opens everything in order, and listens. When a step fails, what was opened before is closed. */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { config } = options;
  checkAddress(config.server);
  checkMode(config);
  // A backend that is unavailable may come later; an unknown name is an error.
  checkBackendName(options.backend ?? config.sandbox.backend);
  const stack = new AsyncDisposableStack();
  try {
    return await open(options, stack);
  } catch (error) {
    await stack[Symbol.asyncDispose]().catch(() => undefined);
    throw error;
  }
}

async function open(options: ServeOptions, stack: AsyncDisposableStack): Promise<RunningServer> {
  const { config, audit } = options;
  const stateDir = stateDirectoryOf(config.sandbox);
  const directory = lockServerDirectory(stateDir);
  stack.defer(() => directory.release());
  const store = await openConfiguredStore(config, stateDir);
  stack.defer(() => store.close());
  checkPeerAddress(config.server, store);
  const { leaseMs } = config.server;
  const lease = await FencedLease.acquire(store, directory.id, { leaseMs });
  stack.defer(() => lease.release().catch(() => undefined));
  const found = await recover(store, lease.server, audit);

  const approvals = new ApprovalService(store, directory.id);
  stack.defer(() => approvals.close());
  const recent = new RecentEvents();
  const metrics = recent.alongside(await createMetrics({ processMetrics: true }));
  const monitor = new SandboxMonitor({ metrics });
  const policy = await loadNamedPolicy(options.policyFile);
  checkRole(config, policy);
  const pool = createConfiguredPool(config.server.pool);
  const manager = createManager(options, { approvals, metrics, monitor, policy, pool, recent, lease });
  const closeManager = once(() => manager.close());
  stack.defer(closeManager);
  const server = await createServer({
    ...options,
    ...{ manager, store, lease, approvals, metrics, monitor, pool, recent },
    hasPolicy: policy !== undefined,
  });
  stack.defer(() => server.app.close());
  stack.defer(() => server.services.executions.settle());
  const { app } = server;
  lease.onFailure((error) => logError(app, error));
  app.log.info({ ...found }, "recovered");
  const jobs = startJobs(server, leaseTimes(leaseMs));
  stack.defer(() => jobs.stop());
  await server.services.sessions.sweep();
  await listen(server, config);
  const url = listeningUrl(server, config);
  await store.servers.announce(lease.token, config.server.url ?? url);
  // Last, when nothing can fail any more: the key is shown only once.
  const firstKey = await store.apiKeys.createFirst(DEFAULT_ORG, {
    name: "first",
    scopes: { roles: "all", readOnly: false, approve: true, admin: true },
  });

  chooseBackend(options.backend ?? config.sandbox.backend, stateDir, config.sandbox).catch((error: unknown) =>
    app.log.warn({ error }, "no sandbox can start now: `skerry doctor` says why"),
  );

  const stop = once(async () => {
    app.log.info("stopping");
    // What does not stop in time ends with the process.
    const timer = setTimeout(() => options.onOverdue?.(), config.server.stopDeadlineMs + CLEAN_UP_MS).unref();
    await server.stopWork();
    await stack[Symbol.asyncDispose]();
    clearTimeout(timer);
  });
  const lost = new Promise<SandboxError>((resolve) =>
    lease.onLost((why) => {
      server.abortWork(why);
      logError(app, why);
      const leftMs = lease.leftMs > 0 ? lease.leftMs : LEAST_STOP_MS;
      const timer = setTimeout(() => options.onOverdue?.(), leftMs);
      // Sandboxes first: they must stop before the lease runs out.
      closeManager()
        .catch((error: unknown) => logError(app, error))
        .then(() => clearTimeout(timer))
        .then(stop)
        .catch((error: unknown) => logError(app, error))
        .then(() => resolve(why));
    }),
  );
  return { url, firstKey, lost, log: app.log, close: stop, stop, [Symbol.asyncDispose]: stop };
}

/** Runs an action once; every call gets the same promise. */
function once<T>(action: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}

function createManager(
  { config, backend, audit }: ServeOptions,
  more: {
    approvals: ApprovalService;
    metrics: Metrics;
    monitor: SandboxMonitor;
    recent: RecentEvents;
    policy: Policy | undefined;
    pool: PoolManager | undefined;
    lease: FencedLease;
  },
): SandboxManager {
  const { approvals, metrics, monitor, recent, policy, pool, lease } = more;
  const isGuarded = policy !== undefined || config.sandbox.securityMode !== undefined;
  return new SandboxManager({
    config,
    metrics,
    monitor,
    onConnection: (connection) => recent.noteConnection(connection),
    handleSignals: false,
    assertMayRun: () => lease.assertHeld(),
    ...defined({ backend, policy, pool, audit }),
    egress: egressRulesOfDomains([], "sandbox.network.allowedDomains", networkRemedy),
    // No org waits for another one's answers.
    ...(isGuarded && { confirmation: approvals, confirmationsAtOnce: Number.POSITIVE_INFINITY }),
  });
}

/** How a client of the server, or its operator, opens a host. */
function networkRemedy(host: string): string {
  return `allow it with POST /v1/sessions/SESSION/egress {"allow":["${host}"]}, or for all in sandbox.network.allowedDomains`;
}

/** Clients are told the rule and the file's name; its path on this host stays private. */
async function loadNamedPolicy(file: string | undefined): Promise<Policy | undefined> {
  if (file === undefined) return undefined;
  const { parsePolicy, readPolicyText } = await import("../../guard/policy/index.js");
  return parsePolicy(await readPolicyText(file), basename(file));
}

/** A role that the policy does not have would have no effect. */
function checkRole({ sandbox }: Config, policy: Policy | undefined): void {
  const { role } = sandbox.policy;
  if (role === undefined) return;
  if (policy === undefined) {
    throw new SandboxError("CONFIG_INVALID", "sandbox.policy.role needs a policy", {
      hint: "Set sandbox.policy.file as well, or add --policy FILE.",
    });
  }
  if (policy.roles.has(role)) return;
  const known = [...policy.roles.keys()].slice(0, 20).join(", ");
  throw new SandboxError("CONFIG_INVALID", `The policy has no role ${JSON.stringify(role)}`, {
    hint: known === "" ? "It has none at all: leave sandbox.policy.role out." : `It has: ${known}.`,
  });
}

/** One shared session would give all clients the same files. */
function checkMode({ sandbox }: Config): void {
  if (sandbox.mode !== "shared") return;
  throw new SandboxError(
    "CONFIG_INVALID",
    "A server cannot run in mode shared: all clients would have the same files",
    {
      hint: 'Set sandbox.mode to "per-session".',
    },
  );
}

/** Starts the periodic jobs of a server. */
function startJobs({ app, services, reapDead }: Server, { reapMs }: LeaseTimes): PeriodicJobs {
  const { store, lease, auditDirectory } = services;
  const jobs = new PeriodicJobs(app.log);
  if (auditDirectory !== undefined) {
    const indexer = new AuditIndexer(store, auditDirectory, lease.server);
    jobs.every(INDEX_MS, () => indexer.run());
  }
  jobs.every(SWEEP_MS, async () => {
    await services.executions.settle();
    await services.sessions.sweep();
  });
  jobs.every(reapMs, reapDead);
  jobs.every(FORGET_MS, () => store.approvals.forgetRequests(Date.now() - FORGET_MS));
  jobs.every(PRUNE_MS, () => forgetOld(store, Date.now() - KEEP_MS));
  return jobs;
}

async function listen({ app }: Server, { server: { host, port } }: Config): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = systemCode(error);
    if (code !== "EADDRINUSE" && code !== "EACCES" && code !== "EADDRNOTAVAIL") throw error;
    throw new SandboxError("CONFIG_INVALID", `The server cannot listen on ${host} port ${port} (${code})`, {
      hint: "Give --port another number, or set server.host and server.port to an address of this machine that is free.",
      cause: error,
    });
  }
}

function listeningUrl({ app }: Server, { server: { host, tls } }: Config): string {
  return urlFrom(tls === undefined ? "http" : "https", host, (app.server.address() as AddressInfo).port);
}

/** The pool that the configuration asks for; undefined: none. */
function createConfiguredPool(config: ServerPoolConfig): PoolManager | undefined {
  const { maxInstances, minInstances, preload, ...rest } = config;
  if (maxInstances === undefined) return undefined;
  for (const language of preload) checkLanguage(language);
  return new PoolManager({
    ...rest,
    maxInstances,
    preload,
    ...(minInstances !== undefined && { minInstances }),
  });
}

function checkLanguage(language: string): void {
  try {
    findLanguage(language);
  } catch (error) {
    const { message, hint } = toSandboxError(error);
    throw new SandboxError("CONFIG_INVALID", `server.pool.preload: ${message}`, {
      ...(hint !== undefined && { hint }),
      cause: error,
    });
  }
}
