import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** The kernels of the root, by their files: Debian 12's own, and the one of its backports. */
export const KERNELS = ["6.1", "6.12"] as const;
export type Kernel = (typeof KERNELS)[number];

/** Where images are kept: `root-<digest of the sources>`, and what a run makes for itself. */
export interface ImageStore {
  readonly directory: string;
  readonly sources: string;
}

/** Resolves to the directory of the root's image and its kernels; makes it, in some minutes, unless it is there. */
export async function ensureRootImage({ directory, sources }: ImageStore): Promise<string> {
  mkdirSync(directory, { recursive: true });
  const image = join(directory, `root-${digestOf(sources)}`);
  removeAbandoned(directory, image);
  if (existsSync(image)) return image;
  const unfinished = `${image}.${process.pid}`;
  try {
    await run("sh", [join(sources, "make-root.sh"), unfinished]);
    if (!existsSync(image)) renameSync(unfinished, image);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return image;
}

/** Makes a disk of a checkout as it stands. */
export async function makeWorkImage(sources: string, checkout: string, image: string): Promise<void> {
  await run("sh", [join(sources, "make-work.sh"), checkout, image]);
}

async function run(program: string, argv: readonly string[]): Promise<void> {
  const child = spawn(program, argv, { stdio: ["ignore", "inherit", "inherit"] });
  const [status] = (await once(child, "close")) as [number | null];
  if (status !== 0) throw new Error(`${argv[0]} failed (status ${status})`);
}

/** What no run uses any more: images of other sources, and the files of runs that were killed. */
function removeAbandoned(directory: string, current: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const maker = /^(?:root-[0-9a-f]+|run)\.(\d+)$/.exec(name)?.[1];
    const isOld = /^root-[0-9a-f]+$/.test(name) && path !== current;
    if (isOld || (maker !== undefined && !existsSync(`/proc/${maker}`)))
      rmSync(path, { recursive: true, force: true });
  }
}

/** The root depends on these files only; the agent comes with the checkout. */
function digestOf(sources: string): string {
  const hash = createHash("sha256");
  for (const name of ["make-root.sh", "fill-root.sh", "packages.txt", "overlay"]) {
    const path = join(sources, name);
    const files = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: "utf8" })
          .sort()
          .map((file) => join(path, file))
      : [path];
    for (const file of files.filter((each) => statSync(each).isFile()))
      hash.update(file.slice(sources.length)).update(readFileSync(file));
  }
  return hash.digest("hex").slice(0, 16);
}
