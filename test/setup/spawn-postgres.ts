import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitUntil } from "../../src/kit/wait-until.js";

const run = promisify(execFile);
const VERSIONS = "/usr/lib/postgresql";
const USER = "skerry";
const PASSWORD = "of-the-tests";
const START_MS = 30_000;
/** What is lost when the machine stops is no loss here. */
const SETTINGS = ["fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200"];

/** A PostgreSQL of the tests' own. */
export interface TestPostgres {
  /** As its owner; the database is `postgres`. */
  readonly url: string;
  start(): Promise<void>;
  /** SIGINT: in order. SIGQUIT: as if it had crashed. Resolves when it is gone. */
  stop(signal: "SIGINT" | "SIGQUIT"): Promise<void>;
}

/** Makes a PostgreSQL that keeps everything in this new directory, and starts it. It ends with this process. */
export async function spawnPostgres(directory: string): Promise<TestPostgres> {
  mkdirSync(directory, { mode: 0o700 });
  const user = ordinaryUser();
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, PASSWORD, { mode: 0o644 });
  const secured = ["--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  const made = ["-D", data, `--username=${USER}`, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"];
  // Sorted as people do, which the store must not be: from version 15 on it can be had without the system's locales.
  const sorted = newestVersion() >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : [];
  await run(program("initdb"), [...made, ...sorted, ...secured], { ...user, cwd: directory });
  let daemon: ChildProcess | undefined;
  const postgres: TestPostgres = {
    url: `postgres://${USER}:${PASSWORD}@localhost/postgres?host=${directory}`,
    async start() {
      daemon = await startDaemon(directory, data, user);
    },
    async stop(signal) {
      if (daemon === undefined || daemon.exitCode !== null) return;
      const gone = once(daemon, "exit");
      daemon.kill(signal);
      await gone;
    },
  };
  await postgres.start();
  return postgres;
}

async function startDaemon(directory: string, data: string, user: User | undefined): Promise<ChildProcess> {
  const log = openSync(join(directory, "log"), "a");
  const settings = [...SETTINGS, "listen_addresses=", `unix_socket_directories=${directory}`];
  const who = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const daemon = spawn(
    "setpriv",
    // The process that started it may be killed.
    [...who, "--pdeathsig=INT", program("postgres"), "-D", data, ...settings.flatMap((each) => ["-c", each])],
    { stdio: ["ignore", log, log], cwd: directory },
  );
  closeSync(log);
  const answers = () => spawnSync(program("pg_isready"), ["-q", "-h", directory]).status === 0;
  await waitUntil(() => daemon.exitCode !== null || answers(), START_MS).catch(() => undefined);
  if (daemon.exitCode === null && answers()) return daemon;
  daemon.kill("SIGKILL");
  throw new Error(`PostgreSQL did not start: ${readFileSync(join(directory, "log"), "utf8").slice(-2000)}`);
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to be root. Debian's package makes a user for it. */
function ordinaryUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** Debian has the server's programs out of the way, one folder per version. */
function program(name: string): string {
  return join(VERSIONS, `${newestVersion()}`, "bin", name);
}

function newestVersion(): number {
  return Math.max(...readdirSync(VERSIONS).map(Number).filter(Number.isInteger));
}
