import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "../setup/clean-up.js";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const LAUNCHER = join(ROOT, "skerry");

interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A user with a home and a state directory of their own, who runs the command line. The home goes after the test or the file. */
export interface User {
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Runs the launcher to its end, in the user's home and without a terminal. */
  skerry(args: readonly string[], options?: RunOptions): Ended;
}

export function createUser(): User {
  const home = temporaryDirectory();
  const environment = {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: home,
    SKERRY_STATE_DIR: join(home, "state"),
  };
  return {
    home,
    environment,
    skerry(args, { input = "", env = {}, cwd = home } = {}) {
      // In a session of its own: otherwise the terminal of the test run would be asked.
      const { status, stdout, stderr } = spawnSync("setsid", ["--wait", LAUNCHER, ...args], {
        input,
        cwd,
        env: { ...environment, ...env },
        encoding: "utf8",
        maxBuffer: 256 * 1024 * 1024,
      });
      return { status, stdout, stderr };
    },
  };
}
