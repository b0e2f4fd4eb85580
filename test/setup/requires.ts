import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { describe, it } from "vitest";
import { leavesContainersOut } from "./suites.js";

/** What a test may need from the host, and how to see whether it is there. */
const COMPONENTS = {
  linux: () => process.platform === "linux",
  root: () => process.getuid?.() === 0,
  bubblewrap: () => runs("bwrap", "--version"),
  "sandbox-runtime": () => existsSync("node_modules/@anthropic-ai/sandbox-runtime/package.json"),
  "mcp-inspector": () => existsSync("node_modules/@modelcontextprotocol/inspector-cli/package.json"),
  python3: () => existsSync("/usr/bin/python3") || existsSync("/usr/local/bin/python3"),
  numpy: () => runs("/usr/bin/python3", "-c", "import numpy"),
  pandas: () => runs("/usr/bin/python3", "-c", "import pandas"),
  matplotlib: () => runs("/usr/bin/python3", "-c", "import matplotlib"),
  pytest: () => runs("/usr/bin/python3", "-c", "import pytest"),
  gcc: () => runs("gcc", "--version"),
  "gcc-arm64": () => runs("aarch64-linux-gnu-gcc", "--version"),
  "qemu-arm64": () => runs("qemu-aarch64-static", "--version"),
  git: () => runs("git", "--version"),
  // Sandboxes see what is in /usr, not what is in a home directory.
  curl: () => existsSync("/usr/bin/curl"),
  wget: () => existsSync("/usr/bin/wget"),
  npm: () => existsSync("/usr/bin/npm") || existsSync("/usr/local/bin/npm"),
  pip: () => runs("/usr/bin/python3", "-m", "pip", "--version"),
  requests: () => runs("/usr/bin/python3", "-c", "import requests"),
  openssl: () => runs("openssl", "version"),
  iproute2: () => runs("ip", "-V"),
  docker: () => runs("dockerd", "--version") && process.getuid?.() === 0,
  podman: () => runs("podman", "--version") && process.getuid?.() === 0,
  gvisor: () => existsSync("/usr/bin/runsc"),
  postgresql: () => existsSync("/usr/lib/postgresql") && existsSync("/usr/bin/setpriv"),
  schemathesis: () => existsSync("build/python-tools/schemathesis"),
  systemd: () => runs("systemd-analyze", "--version"),
  chromium: () => existsSync("/usr/bin/chromium"),
  "node-22": () => existsSync("build/node-22/bin/node"),
  "node-24": () => existsSync("build/node-24/bin/node"),
  debootstrap: () => existsSync("/usr/sbin/debootstrap"),
  cgroups: () =>
    ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].some((path) => {
      try {
        accessSync(path, constants.W_OK);
        return true;
      } catch {
        return false;
      }
    }),
} satisfies Record<string, () => boolean>;

export type Component = keyof typeof COMPONENTS;

/** What only the soak has (`npm run test:soak`). */
const CONTAINERS: ReadonlySet<Component> = new Set<Component>(["docker", "podman", "gvisor"]);

const known = new Map<Component, boolean>();

/**
 * `requires("bubblewrap").describe("…", …)`: runs where the components are, and says what is missing where they are
 * not. With CI=true something missing is a failure.
 */
export function requires(...components: Component[]): { describe: Describe; it: Test; missing: Component[] } {
  const containers = leavesContainersOut() ? components.filter((each) => CONTAINERS.has(each)) : [];
  // Their image alone takes minutes to make.
  if (containers.length > 0) return { describe: describe.skip, it: it.skip, missing: containers };
  const missing = components.filter((component) => !isPresent(component));
  if (missing.length === 0) return { describe, it, missing };
  const reason = `needs ${missing.join(", ")}`;
  if (process.env.CI === "true") throw new Error(`${reason}, which this host lacks`);
  console.warn(`skipped: ${reason}`);
  return { describe: describe.skip, it: it.skip, missing };
}

type Describe = typeof describe | typeof describe.skip;
type Test = typeof it | typeof it.skip;

function isPresent(component: Component): boolean {
  const present = known.get(component) ?? COMPONENTS[component]();
  known.set(component, present);
  return present;
}

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore", timeout: 30_000 }).status === 0;
}
