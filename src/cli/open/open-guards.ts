import { resolve } from "node:path";
import type { Config } from "../../core/config/index.js";
import type { SandboxManager, SandboxManagerOptions, SecurityMode } from "../../core/manager/index.js";
import type { AuditLogger } from "../../guard/audit/index.js";
import type { ConfirmationService } from "../../guard/confirmation/index.js";
import type { Policy } from "../../guard/policy/index.js";
import { defined } from "../../kit/defined.js";
import { SandboxError } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { expandHome } from "../../kit/expand-home.js";
import type { AllowedClients } from "../../runtime/egress/index.js";
import type { GuardOptions, SandboxOptions } from "../definition/index.js";
import { stderr } from "../output/index.js";
import { openAudit } from "./open-audit.js";
import { createManager, limitsOf } from "./open-sandbox.js";

/** Policy, confirmation and audit, as the command line and the configuration say; each may be left out. */
interface OpenGuards {
  readonly policy?: Policy;
  readonly securityMode?: SecurityMode;
  readonly confirmation?: ConfirmationService;
  /** The caller closes it. */
  readonly audit?: AuditLogger;
}

/** A manager behind its guards, to be closed together. */
export interface GuardedManager extends AsyncDisposable {
  readonly manager: SandboxManager;
}

/**
 * A manager with the policy, audit log and confirmation that the command line and the configuration name. Questions go
 * to the person at the terminal unless `asks` is given; `remedy` says how a host is opened where nothing is.
 */
export async function openGuardedManager(
  config: Config,
  options: SandboxOptions & GuardOptions,
  asks?: ConfirmationService,
  remedy = optionRemedy,
): Promise<GuardedManager> {
  const [guards, network] = await Promise.all([
    openGuards(config, options, asks),
    openNetwork(config, options, remedy),
  ]);
  const manager = await createManager(config, options, {
    ...guards,
    ...network,
    limits: limitsOf(options),
    controlSocket: options.session !== undefined,
  });
  return {
    manager,
    async [Symbol.asyncDispose]() {
      // The disk and the sandbox's end need not wait for each other: every record is written by now. Only a sandbox that
      // could reach other hosts has something to tell until its end.
      const closing = manager.close();
      const closeAudit = () => guards.audit?.close();
      const closed = await Promise.allSettled([
        closing,
        manager.hasEgress ? closing.then(closeAudit, closeAudit) : closeAudit(),
      ]);
      for (const each of closed) if (each.status === "rejected") throw each.reason;
    },
  };
}

/** What the command line lets out, and which secrets it puts in on the way. */
async function openNetwork(
  { sandbox: { network } }: Config,
  { allowDomain = [], allow = [], allowInternet = false, secret }: SandboxOptions,
  remedy: Remedy,
): Promise<NetworkOptions> {
  const { allowClientsOf, clientOfHost, egressRulesOfDomains, joinRules, parseSecretOption } = await import(
    "../../runtime/egress/index.js"
  );
  const named = egressRulesOfDomains(allowDomain, "--allow-domain", (host) => {
    const client = clientOfHost(host);
    return remedy(`--allow-domain ${host}${client === undefined ? "" : ` or --allow ${client}`}`);
  });
  const clients = allow.length === 0 ? [] : [allowClientsOf(allow, "--allow")];
  const configured =
    network.allow.length === 0 ? [] : [allowClientsOf(network.allow, "sandbox.network.allow")];
  await tellOfClients([...clients, ...configured]);
  if (allowInternet || network.internet) await warnOfInternet(allowInternet);
  return {
    egress: {
      ...joinRules(named, ...clients.map(({ rules }) => rules)),
      ...(allowInternet && { internet: "--allow-internet" }),
    },
    ...(secret !== undefined && {
      secrets: secret.map((each) =>
        parseSecretOption(each, process.env, (host) => `Add --allow-domain '${host}'`),
      ),
    }),
  };
}

/** Says on standard error what stays outside, and which hosts are on a private address. */
async function tellOfClients(clients: readonly AllowedClients[]): Promise<void> {
  if (clients.length === 0) return;
  const { describePrivateHosts } = await import("../../runtime/egress/index.js");
  const lines = await Promise.all(
    clients.map(async ({ notices, rules }) => [...notices, ...(await describePrivateHosts(rules))]),
  );
  for (const line of lines.flat()) await stderr.write(`skerry: ${escapeUnsafe(line)}\n`);
}

async function warnOfInternet(isOption: boolean): Promise<void> {
  const rule = isOption ? "--allow-internet" : "sandbox.network.internet";
  await stderr.write(
    `skerry: warning: ${rule} opens every public host: what a program reads, it can send anywhere\n`,
  );
}

/** What a person adds to the command to open a host. */
function optionRemedy(options: string): string {
  return `allow it with ${options}`;
}

/** What is said of the options that open a host. */
type Remedy = (options: string) => string;
type NetworkOptions = Pick<SandboxManagerOptions, "egress" | "secrets">;

/** In whose name a call is made. */
export interface CallIdentity {
  readonly role?: string;
  readonly agentId?: string;
  readonly orgId?: string;
}

/** Loads only the rooms that are needed: most runs have no policy and no confirmation. */
async function openGuards(
  config: Config,
  options: GuardOptions,
  asks?: ConfirmationService,
): Promise<OpenGuards> {
  checkGuardOptions(config, options);
  const { sandbox } = config;
  const file = policyFileOf(config, options.policy);
  const securityMode = options.securityMode ?? sandbox.securityMode;
  const guarded = file !== undefined || securityMode !== undefined || options.confirm !== undefined;
  const [policy, confirmation, audit] = await Promise.all([
    file === undefined ? undefined : loadPolicyFile(file),
    guarded ? openConfirmation(options, asks) : undefined,
    options.audit ? openAudit(config) : undefined,
  ]);
  return defined({ policy, securityMode, confirmation, audit });
}

/** The names that the policy decides by and the audit log keeps. */
export function identityOf({ sandbox }: Config, options: GuardOptions): CallIdentity {
  const role = options.role ?? sandbox.policy.role;
  return defined({ role, agentId: options.agent, orgId: options.org });
}

/** The policy file that is named, or the configuration's. */
export function policyFileOf({ sandbox }: Config, named: string | undefined): string | undefined {
  if (named !== undefined) return named;
  return sandbox.policy.file === undefined ? undefined : resolve(expandHome(sandbox.policy.file));
}

export async function loadPolicyFile(file: string): Promise<Policy> {
  const { loadPolicy } = await import("../../guard/policy/index.js");
  return loadPolicy(file);
}

/** Refuses options that would be ignored. */
function checkGuardOptions(config: Config, { role, policy, confirm, dangerouslyApproveAll }: GuardOptions) {
  if (config.sandbox.policy.role !== undefined && policyFileOf(config, policy) === undefined) {
    throw new SandboxError("CONFIG_INVALID", "sandbox.policy.role needs a policy", {
      hint: "Set sandbox.policy.file as well, or add --policy FILE.",
    });
  }
  if (role !== undefined && policyFileOf(config, policy) === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "--role needs a policy", {
      hint: "Add --policy FILE, or set sandbox.policy.file.",
    });
  }
  if (confirm !== undefined && dangerouslyApproveAll) {
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `--confirm ${confirm} and --dangerously-approve-all exclude each other`,
      {
        hint: "Give one of them.",
      },
    );
  }
}

async function openConfirmation(
  options: GuardOptions,
  asks: ConfirmationService | undefined,
): Promise<ConfirmationService> {
  const services = await import("../../guard/confirmation/index.js");
  if (options.dangerouslyApproveAll) return new services.AutoApproveConfirmationService();
  if (options.confirm === "reject") {
    return new services.AutoRejectConfirmationService(
      "This needs a confirmation, and --confirm reject was given",
    );
  }
  if (asks !== undefined) return asks;
  const env = options.color ? process.env : { ...process.env, NO_COLOR: "1" };
  return new services.TerminalConfirmationService({ env, offersSession: false });
}
