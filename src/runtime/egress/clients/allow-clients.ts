import { suggestWord } from "../../../kit/closest-word.js";
import { defined } from "../../../kit/defined.js";
import { SandboxError } from "../../../kit/errors.js";
import { HOST_SERVICES } from "../../../kit/hosts.js";
import type { EgressRules, HostAndPort, RuleEntry } from "../rules/rules.js";
import { CLIENT_NAMES, type ClientName } from "../rules/settings.js";
import { readCargo } from "./cargo.js";
import type { ClientConfiguration } from "./client.js";
import { readGit } from "./git.js";
import { readGo } from "./go.js";
import { readMirror } from "./mirror.js";
import { readNpm } from "./npm.js";
import { readPip } from "./pip.js";
import { type ClientSources, machineSources } from "./sources.js";

const READERS: Readonly<Record<ClientName, (sources: ClientSources) => ClientConfiguration>> = {
  pip: readPip,
  npm: readNpm,
  git: readGit,
  cargo: readCargo,
  go: readGo,
};

/** Rules for the hosts of some clients, and what a person should hear about them. */
export interface AllowedClients {
  readonly rules: EgressRules;
  /** A line each: what stays outside, and what cannot be reached. */
  readonly notices: readonly string[];
}

/**
 * Opens what the clients' own configuration on this machine names, so that mirrors work: each host at its port, and a
 * private address only for a host that is named there. No credentials go inside.
 */
export function allowClientsOf(
  names: readonly string[],
  label: string,
  sources: ClientSources = machineSources(),
): AllowedClients {
  const read = [...new Set(names)].map((name) => {
    const reader = new Map(Object.entries(READERS)).get(name);
    if (reader === undefined) throw unknownClient(name, label);
    return { name, rule: `${label} ${name}`, configuration: reader(sources) };
  });
  const configured = read.flatMap(({ name, rule, configuration: { urls } }) =>
    urls.map((url) => ({ name, rule, mirror: readMirror(url) })),
  );
  const open: RuleEntry<HostAndPort>[] = [
    ...read.flatMap(({ rule, configuration: { hosts = [] } }) =>
      hosts.map((host) => ({ rule, value: { host, port: 443 } })),
    ),
    ...configured.flatMap(({ rule, mirror }) =>
      mirror === undefined ? [] : [{ rule, value: { host: mirror.host, port: mirror.port } }],
    ),
  ];
  const ownHosts = configured.flatMap(({ rule, mirror }) =>
    mirror === undefined || mirror.host === HOST_SERVICES
      ? []
      : [{ rule, value: { host: mirror.host, port: mirror.port } }],
  );
  return {
    rules: {
      ...NOTHING,
      requests: open.map(({ value: { host, port }, rule }) => ({ rule, value: { host, ports: [port] } })),
      ownHosts,
      environment: defined(Object.assign({}, ...read.map(({ configuration }) => configuration.environment))),
      files: read.flatMap(({ configuration: { files = [] } }) => files),
      origin: label,
    },
    notices: [...noticesOf(configured, label), ...read.flatMap(leftOut)],
  };
}

/** The client that asks this host, as it is configured here. */
export function clientOfHost(
  host: string,
  sources: ClientSources = machineSources(),
): ClientName | undefined {
  return CLIENT_NAMES.find((name) =>
    allowClientsOf([name], "", sources).rules.requests.some(({ value }) => value.host === host),
  );
}

const NOTHING = { allowedDomains: [], deniedDomains: [], allowedIps: [], deniedIps: [], deniedPorts: [] };

/** What a person should hear of one client's configuration besides its addresses. */
function leftOut({ rule, configuration }: { rule: string; configuration: ClientConfiguration }): string[] {
  const { hasPrivateEntries, notUnderstood } = configuration;
  return [
    ...(hasPrivateEntries === true
      ? [`${rule}: its configuration has an entry with credentials or a token in it, which is left out`]
      : []),
    ...(notUnderstood === undefined
      ? []
      : [`${rule}: ${JSON.stringify(notUnderstood)} was not understood, and is left out`]),
  ];
}

function noticesOf(
  configured: readonly { readonly name: string; readonly mirror: ReturnType<typeof readMirror> }[],
  label: string,
): string[] {
  const lines = configured.flatMap(({ name, mirror }) => {
    if (mirror === undefined)
      return [
        `${label} ${name}: its configuration names something that no sandbox can reach, which is left out`,
      ];
    if (!mirror.hadCredentials) return [];
    return [
      `${label} ${name}: what ${mirror.host} is shown as credentials stays outside; --secret puts them in at the edge`,
    ];
  });
  return [...new Set(lines)];
}

function unknownClient(name: string, label: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `${label} has no client ${JSON.stringify(name.slice(0, 40))}`, {
    hint: suggestWord(name, CLIENT_NAMES),
  });
}
