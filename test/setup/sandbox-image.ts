import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = join(ROOT, "deploy/images/sandbox");
const ABANDONED_MS = 60 * 60 * 1000;

/** Python, Node, the data packages and the tools. */
export const SANDBOX_IMAGE = "skerry-sandbox:latest";

let making: Promise<string> | undefined;

/** Puts the image into a daemon. Importing it takes seconds; making it, once per state of its sources, takes minutes. */
export async function importSandboxImage(host: string, mayTryAgain = true): Promise<void> {
  making ??= makeArchive();
  // Open, it is read to its end even when another run removes it.
  const file = await open(await making).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || !mayTryAgain) throw error;
    making = undefined;
  });
  if (file === undefined) return importSandboxImage(host, false);
  const docker = spawn("docker", ["-H", host, "import", "--change", "USER 1000:1000", "-", SANDBOX_IMAGE], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(docker, "exit") as Promise<[number | null]>;
  const [[status]] = await Promise.all([ended, pipeline(file.createReadStream(), docker.stdin)]);
  if (status !== 0) throw new Error("The sandbox image cannot be imported");
}

/** Resolves to the path of the image's files as an archive. */
async function makeArchive(): Promise<string> {
  const cache = join(ROOT, "build/test-image");
  mkdirSync(cache, { recursive: true });
  const archive = join(cache, `${digestOf(SOURCES)}.tar`);
  if (existsSync(archive)) return archive;
  // Of earlier sources, or of a run that was killed; another run may be making one now.
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    if (name.endsWith(".tar") || age > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
  }
  const unfinished = `${archive}.${process.pid}`;
  const options = ["--with", "data", "--with", "tools"];
  await run("sh", [join(SOURCES, "make-root.sh"), ...options, unfinished], { maxBuffer: 64 << 20 }).catch(
    (error: Error & { stderr?: string }) => {
      rmSync(unfinished, { force: true });
      throw new Error(`The sandbox image cannot be made: ${error.stderr?.slice(-2000) ?? error.message}`);
    },
  );
  renameSync(unfinished, archive);
  return archive;
}

function digestOf(directory: string): string {
  const hash = createHash("sha256");
  const entries = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  for (const name of entries) {
    const path = join(directory, name);
    if (name.endsWith(".md") || !statSync(path).isFile()) continue;
    hash.update(name).update(readFileSync(path));
  }
  return hash.digest("hex").slice(0, 16);
}
