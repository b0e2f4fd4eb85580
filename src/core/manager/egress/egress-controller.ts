import { readFileSync } from "node:fs";
import type { AuditLogger } from "../../../guard/audit/index.js";
import type { PolicyDecision } from "../../../guard/policy/index.js";
import { defined } from "../../../kit/defined.js";
import { SandboxError, systemCode, toSandboxError } from "../../../kit/errors.js";
import { expandHome } from "../../../kit/expand-home.js";
import type { Capabilities } from "../../../runtime/backends/index.js";
import type { EgressEvent, EgressRules, Secret } from "../../../runtime/egress/index.js";
import {
  allowClientsOf,
  allowsSomething,
  type CheckedChange,
  checkChange,
  checkSecretHosts,
  type EgressChange,
  egressEnvironment,
  egressRulesOf,
  joinRules,
  loadSecrets,
  mergeChanges,
  openEgress,
  openSecrets,
  rulesOfChange,
} from "../../../runtime/egress/index.js";
import type { EgressConnection, NetworkInit, RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { Config } from "../../config/index.js";
import type { Metrics } from "../../metrics/index.js";
import type { SandboxConnection, SandboxManagerOptions } from "../manager-options.js";
import { egressRulesOfDecision, noEgressOfDecision } from "./egress-of-decision.js";
import type { NetworkFacts } from "./network-facts.js";

/** Where programs inside find the certificates that they trust. */
const CERTIFICATES = "/tmp/.skerry/certificates.pem";

export interface EgressControllerOptions {
  readonly config: Config["sandbox"];
  readonly stateDir: string;
  /** Besides the configuration's. */
  readonly rules: EgressRules | undefined;
  /** Besides the configuration's. */
  readonly secrets: readonly Secret[];
  /** A policy decides for every call what it may reach. */
  readonly isDecidedPerCall: boolean;
  readonly audit: AuditLogger | undefined;
  readonly metrics: Metrics | undefined;
  readonly onConnection?: SandboxManagerOptions["onConnection"];
}

/** The sandbox that a connection comes from. */
export interface EgressOrigin {
  readonly sandboxId: string;
  /** Read each time: a sandbox that was started ahead gets its session later. */
  readonly sessionId: string;
  readonly backend: string;
  readonly guestRuntime: string;
}

function libraryRemedy(host: string): string {
  return `allow it with egress: allowDomains(${JSON.stringify(host)}), or in sandbox.network.allowedDomains`;
}

const INTERNET_WARNING = "every public host is open";

const NO_CHANGE: CheckedChange = { allow: [], deny: [] };

/** Opens, changes and records the egress of one manager's sandboxes. */
export class EgressController {
  /** What holds for every sandbox. */
  readonly #rules: EgressRules;
  #secrets: readonly Secret[] | undefined;
  #hasEgress = false;
  /** By session: they hold for the session's next sandbox too. */
  readonly #changes = new Map<string, CheckedChange>();

  constructor(private readonly options: EgressControllerOptions) {
    const { config, rules } = options;
    this.#keepOutOfRecords(options.secrets);
    const configured = configuredRules(config);
    // A denial names the list that was written.
    const { origin } = configured.allowedDomains.length === 0 && rules !== undefined ? rules : configured;
    const remedy = rules?.remedy ?? libraryRemedy;
    this.#rules = { ...(rules === undefined ? configured : joinRules(configured, rules)), origin, remedy };
  }

  /** Some host may be reached without a policy's decision. */
  get isOpen(): boolean {
    return allowsSomething(this.#rules);
  }

  /** What every session may reach, as far as it is named by hosts and addresses. */
  get reachable(): NetworkFacts {
    const { internet, allowedDomains, allowedIps, requests } = this.#rules;
    if (internet !== undefined) return { kind: "internet" };
    const named = [...allowedDomains, ...allowedIps].map(({ value }) => value);
    const some = requests.map(({ value: { host, ports = [] } }) =>
      ports.length === 0 || ports.every((port) => port === 443) ? host : `${host}:${ports.join(",")}`,
    );
    const hosts = [...new Set([...named, ...some])];
    return hosts.length === 0 ? { kind: "none" } : { kind: "hosts", hosts };
  }

  get hasEgress(): boolean {
    return this.#hasEgress;
  }

  /** A new sandbox gets egress at once; otherwise with the first call that may use it. */
  get opensAtStart(): boolean {
    return this.isOpen || (this.hasSecrets && !this.options.isDecidedPerCall);
  }

  get denies(): boolean {
    const { deniedDomains, deniedIps, deniedPorts } = this.#rules;
    return deniedDomains.length + deniedIps.length + deniedPorts.length > 0;
  }

  get hasSecrets(): boolean {
    const { config, secrets } = this.options;
    return secrets.length + Object.keys(config.secrets).length > 0;
  }

  /** The network of a sandbox that starts. */
  networkFor(origin: EgressOrigin, { network }: Capabilities): NetworkInit {
    return {
      ports: this.options.config.network.allowLocalBinding,
      ...(network === "per-host" && {
        egress: {
          open: () => this.#open(origin),
          closedEnvironment: egressEnvironment({ guestRuntime: origin.guestRuntime, isClosed: true }),
        },
      }),
    };
  }

  /** Lets a call out as far as its decision says; the function returned ends that. */
  async enter(sandbox: RunningSandbox, decision: PolicyDecision | undefined): Promise<() => void> {
    if (decision === undefined) return () => undefined;
    const rules = egressRulesOfDecision(decision.network);
    this.#requireGivenSecrets(rules ?? noEgressOfDecision(decision));
    if (rules !== undefined) return sandbox.network.enter(rules);
    // Also while egress is closed: a call that opens it must not open it for this one.
    return sandbox.network.restrict(noEgressOfDecision(decision));
  }

  /** Changes what a running sandbox may reach. */
  async change(sandbox: RunningSandbox, change: EgressChange): Promise<void> {
    const checked = checkChange(change);
    if (this.options.isDecidedPerCall && checked.allow.length > 0) {
      throw new SandboxError("POLICY_DENIED", "A policy decides what this session may reach", {
        hint: "Add the host to the policy's network block.",
      });
    }
    const { sessionId } = sandbox;
    this.#changes.set(sessionId, mergeChanges(this.#changes.get(sessionId) ?? NO_CHANGE, checked));
    await this.apply(sandbox);
  }

  /** True when a sandbox that was started ahead has egress already, and its session may reach something else. */
  hasChanged({ network, sessionId }: RunningSandbox): boolean {
    return network.isLoaded && this.#changes.has(sessionId);
  }

  /** Lets it reach what its session may. */
  async apply(sandbox: RunningSandbox): Promise<void> {
    await sandbox.network.setRules(this.#rulesOf(sandbox.sessionId));
  }

  /** A session that is deleted leaves no rules to one that has its name later. */
  forget(sessionId: string): void {
    this.#changes.delete(sessionId);
  }

  /** What a session may reach in every call. */
  #rulesOf(sessionId: string): EgressRules {
    const change = this.#changes.get(sessionId);
    const rules = change === undefined ? this.#rules : joinRules(this.#rules, rulesOfChange(change));
    // Where a policy decides, a configuration without allowed hosts only denies.
    return this.options.isDecidedPerCall && !namesHosts(rules) ? { ...rules, deniesOnly: true } : rules;
  }

  async #open(origin: EgressOrigin): Promise<EgressConnection> {
    const { config, isDecidedPerCall } = this.options;
    const rules = this.#rulesOf(origin.sessionId);
    this.#hasEgress = true;
    if (!isDecidedPerCall) checkSecretHosts(this.#allSecrets(), rules);
    const edge = this.hasSecrets ? await this.#openSecrets() : undefined;
    const { connections, bytes, idleMs } = config.network.limits;
    const egress = await openEgress({
      rules,
      limits: {
        maxConnections: connections,
        idleMs,
        responseMs: idleMs,
        ...(bytes !== undefined && { maxBytes: bytes }),
      },
      guestRuntime: origin.guestRuntime,
      ...(edge !== undefined && { secrets: edge.secrets, caPath: edge.certificates.path }),
      ...(config.network.upstreamCa !== undefined && { upstreamCa: readCa(config.network.upstreamCa) }),
      onEvent: (event) => this.#remember(origin, event),
    });
    return {
      egress,
      environment: { ...egress.environment, ...rules.environment, ...edge?.secrets.placeholders() },
      files: [...(rules.files ?? []), ...(edge === undefined ? [] : [edge.certificates])],
    };
  }

  /** New placeholders for every sandbox; one authority for all. */
  async #openSecrets() {
    const { stateDir, config } = this.options;
    const { secrets, certificates } = await openSecrets(stateDir, this.#allSecrets());
    const more = config.network.upstreamCa === undefined ? [] : [readCa(config.network.upstreamCa)];
    return { secrets, certificates: { path: CERTIFICATES, text: [certificates, ...more].join("\n") } };
  }

  /** Read when they are first needed: most commands of a configuration with secrets run no sandbox. */
  #allSecrets(): readonly Secret[] {
    const { config, secrets } = this.options;
    if (this.#secrets !== undefined) return this.#secrets;
    const configured = loadSecrets(config.secrets, process.env);
    this.#keepOutOfRecords(configured);
    this.#secrets = [...configured, ...secrets];
    return this.#secrets;
  }

  /** They have no business there; a caller may have put one into a command all the same. */
  #keepOutOfRecords(secrets: readonly Secret[]): void {
    if (secrets.length > 0) this.options.audit?.alsoRedact(secrets.map((secret) => secret.reveal()));
  }

  /** A secret that the caller gave and the policy keeps from its host is a mistake; the configuration's are for all. */
  #requireGivenSecrets(rules: EgressRules): void {
    const given = this.options.secrets.filter(({ origin }) => origin.code === "INVALID_ARGUMENT");
    try {
      checkSecretHosts(given, rules);
      if (namesHosts(this.#rules)) checkSecretHosts(given, this.#rules);
    } catch (error) {
      throw new SandboxError("POLICY_DENIED", toSandboxError(error).message, {
        hint: "Add the host to the policy's network block, or leave the secret out.",
        cause: error,
      });
    }
  }

  /** It was let out by the rule that opens every public host. */
  #isInternet(rule: string): boolean {
    return this.#rules.internet !== undefined && rule === this.#rules.internet;
  }

  #tell(connection: SandboxConnection): void {
    try {
      this.options.onConnection?.(connection);
    } catch (error) {
      process.emitWarning(`A listener of connections failed: ${String(error)}`);
    }
  }

  #remember({ sandboxId, sessionId, backend }: EgressOrigin, event: EgressEvent): void {
    const { audit, metrics } = this.options;
    const { verdict, rule, why, bytesSent, bytesReceived } = event;
    if (verdict === "denied")
      metrics?.recordViolation({ tool: "network", reason: "domain", count: event.count });
    // What is still open is told again when it is over.
    if (event.open !== true)
      metrics?.recordNetwork({ verdict, bytesSent, bytesReceived, count: event.count });
    this.#tell({ ...event, sandboxId, sessionId });
    const result = ({ allowed: "success", denied: "denied", failed: "failure" } as const)[verdict];
    audit
      ?.log({
        eventType: "network",
        sandboxId,
        sessionId,
        backend,
        result,
        policyRule: rule,
        error: verdict === "allowed" ? null : why,
        networkBytesSent: bytesSent,
        networkBytesRecv: bytesReceived,
        details: { ...detailsOf(event), ...(this.#isInternet(rule) && { warning: INTERNET_WARNING }) },
      })
      .catch((error: unknown) => {
        process.emitWarning(`A connection could not be audited: ${String(error)}`);
      });
  }
}

/** The rules of the configuration, with those of the clients that it names. */
function configuredRules({ network }: Config["sandbox"]): EgressRules {
  const configured = egressRulesOf(network);
  if (network.allow.length === 0) return configured;
  const { rules } = allowClientsOf(network.allow, "sandbox.network.allow");
  return joinRules(configured, rules);
}

function detailsOf(event: EgressEvent) {
  const { via, host, port, address, method, path, durationMs, count, secrets, open } = event;
  return {
    via,
    host,
    port,
    ...defined({ address, method, path }),
    ...(open === true && { open }),
    duration_ms: Math.round(durationMs),
    ...(count !== undefined && { count }),
    ...(secrets !== undefined && secrets.length > 0 && { secrets: secrets.join(", ") }),
  };
}

function namesHosts({ allowedDomains, requests, internet }: EgressRules): boolean {
  return internet !== undefined || allowedDomains.length + requests.length > 0;
}

function readCa(path: string): string {
  try {
    return readFileSync(expandHome(path), "utf8");
  } catch (error) {
    throw new SandboxError(
      "CONFIG_INVALID",
      `sandbox.network.upstreamCa cannot be read (${systemCode(error) ?? "unknown error"})`,
      { hint: "Give a file of certificates in PEM.", cause: error },
    );
  }
}
