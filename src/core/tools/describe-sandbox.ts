import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import type { InstalledPrograms, NetworkFacts, SandboxFacts } from "../manager/index.js";

/** Hosts beyond these are counted. */
const LISTED_HOSTS = 8;

/** What it reaches, in one sentence for a model. */
export function describeNetwork(network: NetworkFacts): string {
  switch (network.kind) {
    case "none":
      return "No network.";
    case "internet":
      return "It reaches public hosts.";
    case "policy":
      return "A policy decides which hosts it reaches.";
    case "hosts": {
      const named = network.hosts.slice(0, LISTED_HOSTS).map((host) => escapeUnsafe(host.slice(0, 80)));
      const more = network.hosts.length - named.length;
      return `It reaches only ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
    }
  }
}

/** What a model should know of where it is, a line each. `hasProject`: the workspace is a copy of the person's directory. */
export function describeSandbox(
  facts: SandboxFacts,
  installed?: InstalledPrograms,
  hasProject = false,
): string[] {
  const { network, memoryMb, pids, timeoutMs, shared } = facts;
  const shown = shared.map(({ path, writable }) => `${escapeUnsafe(path)}${writable ? " (writable)" : ""}`);
  return [
    ...filesHere(shown, hasProject),
    describeNetwork(network),
    `Limits: ${memoryMb} MiB of memory for everything together, ${pids} processes, ${timeoutMs / 1000} s for a call.`,
    ...(installed === undefined || installed.programs.length === 0
      ? []
      : [
          `Installed: ${installed.programs.join(", ")}${installed.packages.length === 0 ? "" : `; Python has ${installed.packages.join(", ")}`}.`,
        ]),
  ];
}

function filesHere(shown: readonly string[], hasProject: boolean): string[] {
  const project = hasProject
    ? [
        "The workspace is a copy of the person's project: they look at your changes before they take them over.",
      ]
    : [];
  if (shown.length > 0)
    return [
      ...project,
      `Of the person's${hasProject ? " other" : ""} files only these are here: ${shown.join(", ")}.`,
    ];
  return hasProject
    ? [...project, "No other files of the person are here."]
    : ["The person's own files are not here: put what is needed into the workspace, or ask for it."];
}
