import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { arch, release, type } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { PACKAGE_ROOT } from "../../../kit/package-root.js";
import { stateDirectoryOf } from "../../../kit/state-directory.js";
import type { Capabilities } from "../../../runtime/backends/index.js";
import {
  backendOptions,
  getBackend,
  isInstalledByHand,
  listBackends,
} from "../../../runtime/backends/index.js";
import { LANGUAGES } from "../../../runtime/sandbox/index.js";
import { type Config, DEFAULT_CONFIG } from "../../config/index.js";
import { type ChecklistItem, checkReadiness } from "./readiness.js";

const run = promisify(execFile);
/** What `doctor --fix` runs. */
const RUNNABLE = /^(?:apt-get|sysctl|install|skerry) /;
const GUEST_PATH = ["/usr/local/bin", "/usr/bin", "/bin"];

/** What this host can enforce, what is missing, and how to get it. */
export interface Diagnosis {
  /** True when some backend isolates here. */
  readonly ok: boolean;
  readonly host: {
    readonly system: string;
    readonly architecture: string;
    readonly node: string;
    readonly user: "root" | "ordinary";
  };
  readonly backends: readonly {
    readonly name: string;
    readonly available: boolean;
    readonly version?: string;
    readonly problems: readonly { readonly what: string; readonly remedy: string }[];
    readonly capabilities: Capabilities;
  }[];
  readonly languages: readonly {
    readonly name: string;
    readonly available: boolean;
    readonly interpreter?: string;
    readonly version?: string;
  }[];
  /** What to have in order before agents are let in. */
  readonly checklist: readonly ChecklistItem[];
  /** Commands that would help, ready to run. */
  readonly fixes: readonly { readonly what: string; readonly command: string }[];
}

/** Looks, and changes nothing. */
export async function diagnose(config: Config = DEFAULT_CONFIG): Promise<Diagnosis> {
  const stateDir = stateDirectoryOf(config.sandbox);
  const backends = await Promise.all(
    listBackends().map(async (name) => {
      const backend = await getBackend(name, {
        stateDir,
        options: backendOptions(name, config.sandbox.backends),
      });
      const probe = await backend.probe({ thorough: true });
      const problems = probe.problems.map(({ what, remedy }) => ({ what, remedy: fromAnywhere(remedy) }));
      return { name, ...probe, problems };
    }),
  );
  const languages = await Promise.all(LANGUAGES.map(inspectLanguage));
  const isolating = backends.filter((backend) => backend.capabilities.isolates);
  const problems = isolating
    .filter(({ available }) => !available)
    .flatMap(({ name, problems: found }) =>
      isInstalledByHand(name) ? found.filter(({ remedy }) => !remedy.startsWith("apt-get ")) : found,
    );
  const missing = LANGUAGES.filter((language) =>
    languages.some(({ name, available }) => name === language.name && !available),
  );
  const commands = [
    ...problems.map(({ what, remedy }) => ({ what, command: remedy })),
    ...missing.map(({ name, install }) => ({ what: `no interpreter for ${name}`, command: install })),
  ].filter(({ command }) => RUNNABLE.test(command));
  return {
    ok: isolating.some((backend) => backend.available),
    host: {
      system: `${type()} ${release()}`,
      architecture: arch(),
      node: process.version,
      user: process.getuid?.() === 0 ? "root" : "ordinary",
    },
    backends,
    languages,
    checklist: await checkReadiness(
      config,
      isolating.find((backend) => backend.available),
    ),
    fixes: commands.filter(
      (fix, index) => commands.findIndex(({ command }) => command === fix.command) === index,
    ),
  };
}

/** A command that takes a file of the package, as one runs it in whatever directory. */
function fromAnywhere(remedy: string): string {
  return remedy.startsWith("install ") ? remedy.replace(" deploy/", ` ${PACKAGE_ROOT}/deploy/`) : remedy;
}

async function inspectLanguage({ name, interpreter }: (typeof LANGUAGES)[number]) {
  const path = GUEST_PATH.map((directory) => join(directory, interpreter)).find((each) => existsSync(each));
  if (path === undefined) return { name, available: false };
  try {
    const { stdout } = await run(path, ["--version"], { timeout: 5000, env: {} });
    const version = /\d+(?:\.\d+)+/.exec(stdout)?.[0];
    return { name, available: true, interpreter: path, ...(version !== undefined && { version }) };
  } catch {
    return { name, available: false };
  }
}
