import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Where the clients of this machine have their configuration. */
export interface ClientSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Where Node is installed: npm's global configuration is below it. */
  readonly nodePrefix: string;
  /** Undefined: there is no such file, or this user may not read it. */
  read(path: string): string | undefined;
}

const MAX_FILE_BYTES = 1024 * 1024;

export function machineSources(env: ClientSources["env"] = process.env): ClientSources {
  return {
    env,
    home: env.HOME ?? homedir(),
    nodePrefix: dirname(dirname(process.execPath)),
    read(path) {
      try {
        const stat = statSync(path);
        return stat.isFile() && stat.size <= MAX_FILE_BYTES ? readFileSync(path, "utf8") : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** `~/.config`, or where the person has it. */
export function configHome({ env, home }: ClientSources): string {
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

/** A variable that is set to something. */
export function variable({ env }: ClientSources, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
