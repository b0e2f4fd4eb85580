import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { installOnce, removeUnfinished } from "../../kit/install-once.js";
import { PACKAGE_ROOT } from "../../kit/package-root.js";
import { filterPath } from "./linux/seccomp/filter.js";

/** Files that give the user inside a name, and the machine inside an address of its own. */
const ETC = {
  passwd:
    "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
  group: "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
  hosts: "127.0.0.1 localhost skerry\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
} as const;

/** Parts of the host's /etc that programs need and that say nothing about the host. */
const HOST_ETC = [
  "ld.so.cache",
  "alternatives",
  "ssl/certs",
  "ssl/openssl.cnf",
  "localtime",
  // What the distribution is stands below /usr as well.
  "os-release",
  "mime.types",
  "protocols",
  "services",
  "python3",
  "python3.11",
  "matplotlibrc",
  "fonts",
];

/** The guest's program, its warm runners and the few files of /etc that a sandbox needs. */
export interface GuestRuntime {
  readonly directory: string;
  readonly guest: string;
}

/** Where the package's own build of the guest is, for this machine or another architecture. */
export function findPrebuilt(architecture: string = process.arch): {
  readonly guest: string;
  /** Shared libraries for interpreters. */
  readonly libraries: readonly string[];
  readonly runners: string;
  readonly version: string;
} {
  const prebuilt = join(PACKAGE_ROOT, "prebuilt");
  const binaries = join(prebuilt, `linux-${architecture}`);
  const guest = join(binaries, "skerry-guest");
  if (!existsSync(guest) || !existsSync(join(prebuilt, "runners"))) {
    throw new SandboxError("BACKEND_UNAVAILABLE", `The guest is not built for linux-${architecture}`, {
      hint: "In a clone, run guest/build.sh (needs gcc). Packages carry it for x64 and arm64.",
    });
  }
  const version = readFileSync(join(prebuilt, "version"), "utf8").trim();
  const libraries = ["memory-keeper.so", "cell.so"].map((name) => join(binaries, name));
  return { guest, libraries, runners: join(prebuilt, "runners"), version };
}

/** The runners by their paths below `directory`, each folder before what it holds. */
export function listRunners(directory: string): { readonly name: string; readonly isDirectory: boolean }[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => ({ name, isDirectory: statSync(join(directory, name)).isDirectory() }));
}

/**
 * Copies the guest to where every sandbox's user can read it and no path gives the caller away. One copy per
 * version; several processes may do this at once. A copy that is `known` is taken as it is while it is there.
 */
export function installGuestRuntime(stateDir: string, known?: GuestRuntime): GuestRuntime {
  if (known !== undefined && existsSync(known.guest)) return known;
  const prebuilt = findPrebuilt();
  const parent = join(stateDir, "runtime");
  const name = `${prebuilt.version}-${hostVersion()}`;
  const directory = join(parent, name);
  const guest = join(directory, "skerry-guest");
  removeUnfinished(parent);
  if (existsSync(guest)) return { directory, guest };
  try {
    installOnce(parent, name, (temporary) => fill(temporary, prebuilt));
  } catch (error) {
    if (systemCode(error) !== "ENOSPC") throw error;
    throw new SandboxError("DISK_FULL", "There is no room for the guest in the state directory", {
      hint: "Free some space, or point SKERRY_STATE_DIR at another disk.",
      cause: error,
    });
  }
  return { directory, guest };
}

function fill(directory: string, prebuilt: ReturnType<typeof findPrebuilt>): void {
  mkdirSync(join(directory, "etc", "ssl"), { recursive: true });
  mkdirSync(join(directory, "empty"));
  copyExecutable(prebuilt.guest, join(directory, "skerry-guest"));
  for (const library of prebuilt.libraries) copyReadable(library, join(directory, basename(library)));
  // The library that confines programs in cells. Without a build there are no cells.
  if (existsSync(filterPath(process.arch)))
    copyReadable(filterPath(process.arch), join(directory, "sandbox.bpf"));
  for (const { name, isDirectory } of listRunners(prebuilt.runners)) {
    if (isDirectory) mkdirSync(join(directory, name), { mode: 0o755 });
    else copyReadable(join(prebuilt.runners, name), join(directory, name));
  }
  for (const name of HOST_ETC.filter((each) => existsSync(join("/etc", each)))) {
    // Certificates are links into other places: what they point at is what is wanted. Alternatives stay links.
    const dereference = name !== "alternatives";
    cpSync(join("/etc", name), join(directory, "etc", name), {
      recursive: true,
      dereference,
      verbatimSymlinks: !dereference,
    });
  }
  for (const [name, content] of Object.entries(ETC)) {
    writeFileSync(join(directory, "etc", name), content);
    chmodSync(join(directory, "etc", name), 0o444);
  }
  // Agents write python for what Debian calls python3 alone. It comes last in PATH: one of the host's own wins.
  mkdirSync(join(directory, "bin"));
  symlinkSync("/usr/bin/python3", join(directory, "bin", "python"));
  for (const path of ["bin", "etc", "etc/ssl", "empty"]) chmodSync(join(directory, path), 0o755);
}

/** Goes up when `fill` puts something else into the directory. */
const LAYOUT = 2;

/** Changes when the host's certificates, libraries or time zone do, the filter, or the layout: then a new copy is made. */
function hostVersion(): string {
  const times = HOST_ETC.map((name) => statSync(join("/etc", name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  const filter = statSync(filterPath(process.arch), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return createHash("sha256")
    .update([...times, filter, LAYOUT].join())
    .digest("hex")
    .slice(0, 8);
}

function copyExecutable(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o555);
}

function copyReadable(from: string, to: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o444);
}
