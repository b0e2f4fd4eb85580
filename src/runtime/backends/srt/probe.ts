import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Capabilities, Probe, ProbeOptions } from "../backend.js";
import { openCgroups } from "../linux/cgroup/open-cgroups.js";
import { findHostFacts, type HostFacts } from "../linux/host-facts.js";
import { probeHost } from "../linux/probe-host.js";
import { DEFAULT_USER_RANGE } from "../linux/user-range.js";
import { findSrtPackage, type SrtPackage } from "./srt-package.js";

const USUAL_NODES = ["/usr/local/bin/node", "/usr/bin/node"];

/** What the backend needs to know about this host, found once. */
export interface SrtFacts {
  readonly host: HostFacts;
  readonly srt: SrtPackage | undefined;
  /** A Node that a sandbox's user may run. */
  readonly node: string | undefined;
}

export async function findSrtFacts(bubblewrap: string | undefined): Promise<SrtFacts> {
  const host = findHostFacts(bubblewrap, await openCgroups());
  const nodes = [process.execPath, ...USUAL_NODES];
  return {
    host,
    srt: findSrtPackage(),
    node: host.isRoot ? nodes.find(isOpenToAll) : process.execPath,
  };
}

/** sandbox-runtime itself enforces paths and the network; every limit is ours, as in the bubblewrap backend. */
export async function probeSrt(facts: SrtFacts, stateDir: string, options: ProbeOptions): Promise<Probe> {
  const problems: { what: string; remedy: string }[] = [];
  if (facts.srt === undefined) {
    problems.push({
      what: "@anthropic-ai/sandbox-runtime is not installed",
      remedy: "npm install @anthropic-ai/sandbox-runtime@0.0.78",
    });
  }
  if (process.platform === "darwin") {
    const guest = { what: "the guest does not run on macOS yet", remedy: "Use Linux." };
    return describe(facts, [...problems, guest], [], MACOS_CAPABILITIES);
  }
  if (facts.node === undefined) {
    problems.push({
      what: "the sandboxes' users may not run this Node.js",
      remedy: "Install Node.js where every user can run it, such as /usr/bin/node.",
    });
  }
  if (!["/usr/bin/which", "/bin/which"].some((path) => existsSync(path)))
    problems.push({ what: "which is not installed", remedy: "apt-get install debianutils" });
  const bubblewrap = await probeHost(facts.host, { ...options, stateDir, uidRange: DEFAULT_USER_RANGE });
  // Its own walls keep the guest from making namespaces inside.
  const capabilities = { ...bubblewrap.capabilities, cells: false };
  if (bubblewrap.available) return describe(facts, problems, bubblewrap.problems, capabilities);
  return describe(facts, [...problems, ...bubblewrap.problems], [], capabilities);
}

/** Seatbelt by way of sandbox-runtime: paths and the network, no limit but those of a process. */
const MACOS_CAPABILITIES: Capabilities = {
  isolates: true,
  network: "none",
  memoryLimit: false,
  cpuLimit: false,
  pidsLimit: false,
  fileSizeLimit: true,
  openFilesLimit: true,
  workspaceLimit: false,
  terminal: true,
  sharedWorkspace: true,
  diesWithHost: true,
};

function describe(
  { srt }: SrtFacts,
  blockers: readonly { what: string; remedy: string }[],
  weaknesses: Probe["problems"],
  capabilities: Capabilities,
): Probe {
  return {
    available: blockers.length === 0,
    ...(srt !== undefined && { version: srt.version }),
    problems: [...blockers, ...weaknesses],
    capabilities,
  };
}

/** May every user run it, and reach it? A Node in a home directory is only its user's. */
function isOpenToAll(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    if ((statSync(path).mode & 0o005) !== 0o005) return false;
    for (let at = dirname(path); at !== "/"; at = dirname(at))
      if ((statSync(at).mode & 0o001) === 0) return false;
    return true;
  } catch {
    return false;
  }
}
