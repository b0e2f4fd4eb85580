import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import { daemonEvents } from "../daemon/daemon-events.js";
import { imageChanges } from "./dockerfile.js";
import { IMAGE_DIRECTORY, type ImageBuild } from "./image-build.js";

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const SAID_LINES = 12;

/** Makes the root with debootstrap and streams it into the daemon. Nothing of it is on this host's disk. */
export async function buildFromDebian(
  order: ImageBuild,
  { isLastResort = false }: { readonly isLastResort?: boolean } = {},
): Promise<void> {
  const { docker, tag, sets, labels, signal, onStep } = order;
  // Do not suggest what has just failed.
  const registry = isLastResort
    ? "have the daemon reach a registry with the base image"
    : "build from a registry: skerry image build --from registry";
  const { Arch } = await docker.version();
  if (Arch !== ARCHITECTURES[process.arch]) {
    throw new SandboxError(
      "UNSUPPORTED",
      `this host makes images for ${process.arch}, the daemon runs ${Arch}`,
      {
        hint: `Run it on the daemon's host, or ${registry}.`,
      },
    );
  }
  if (process.getuid?.() !== 0) {
    throw new SandboxError("BACKEND_UNAVAILABLE", "making an image from Debian's packages needs root", {
      hint: `Run it as root, or ${registry}.`,
    });
  }
  signal.throwIfAborted();
  const script = join(IMAGE_DIRECTORY, "make-root.sh");
  const maker = spawn("sh", [script, ...sets.flatMap((set) => ["--with", set]), "-"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(maker, "close") as Promise<[number | null]>;
  const stop = () => maker.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  // Whether an aborted request settles is not left to the daemon and its client.
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => undefined);
  const said = readSteps(maker.stderr, onStep);
  let failure: SandboxError | undefined;
  try {
    const archive = new PassThrough();
    // Its reader gets the error; after an abort there is no reader.
    archive.on("error", () => undefined);
    maker.stdout.pipe(archive, { end: false });
    const made = exited.then(([status]) => {
      if (status === 0) archive.end();
      else {
        failure = failureOf(status, said);
        // The daemon must not take half an archive for a whole one.
        archive.destroy(failure);
      }
    });
    await Promise.race([once(archive, "readable"), made]);
    if (failure !== undefined) throw failure;
    const [repo, name] = splitTag(tag);
    const changes = imageChanges(labels).join("\n");
    const send = async () => {
      const stream = await docker.importImage(archive, { repo, tag: name, changes, abortSignal: signal });
      for await (const _ of daemonEvents(stream, signal));
    };
    await Promise.race([send(), aborted]);
  } catch (error) {
    // The first failure is the cause: the other process then only sees a broken pipe.
    const cause = failure ?? error;
    stop();
    // It has ended when its output has, which is no longer read.
    maker.stdout.unpipe().resume();
    await exited;
    throw cause;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Passes the maker's steps on, and keeps the last of everything else it says. */
function readSteps(stderr: NodeJS.ReadableStream, onStep: (text: string) => void): string[] {
  const said: string[] = [];
  let rest = "";
  stderr.setEncoding("utf8").on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!.slice(-4096);
    for (const line of lines.map(escapeUnsafe)) {
      const step = /^make-root: (.*)$/.exec(line)?.[1];
      if (step !== undefined && !step.startsWith("failed")) onStep(step);
      said.push(step ?? line);
      if (said.length > SAID_LINES) said.shift();
    }
  });
  return said;
}

/** The error of the maker's exit status and last words. */
function failureOf(status: number | null, said: readonly string[]): SandboxError {
  const hint = said.find((line) => line.startsWith("hint: "))?.slice("hint: ".length);
  const words = said.filter((line) => line !== "" && !line.startsWith("hint: "));
  if (status === 69 || status === 77) {
    return new SandboxError("BACKEND_UNAVAILABLE", words.at(-1) ?? "debootstrap cannot run", {
      ...(hint !== undefined && { hint }),
    });
  }
  if (status === 74) {
    return new SandboxError("DISK_FULL", "there is no room to make the image", {
      hint: "It needs 3 GB, in memory when that is free, else where TMPDIR points.",
    });
  }
  return new SandboxError("EXECUTION_FAILED", `the image could not be made: ${words.slice(-4).join(" | ")}`, {
    hint: "Are Debian's mirror, the registry of npm and PyPI reachable from here?",
  });
}

function splitTag(tag: string): [repo: string, name: string] {
  const at = tag.lastIndexOf(":");
  return [tag.slice(0, at), tag.slice(at + 1)];
}
