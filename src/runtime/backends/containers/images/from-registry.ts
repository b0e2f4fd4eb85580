import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SandboxError } from "../../../../kit/errors.js";
import { daemonEvents } from "../daemon/daemon-events.js";
import { explainDockerFailure } from "../daemon/explain-failure.js";
import { baseImageName } from "./dockerfile.js";
import { IMAGE_DIRECTORY, type ImageBuild } from "./image-build.js";

/** A registry that says nothing for so long is not there. */
const SILENCE_MS = 60_000;
/** The daemon removes a cancelled build's container in its own time, and until then it keeps the image. */
const CLEAN_UP_MS = 20_000;
/** Instructions that take a while. */
const WORK = ["FROM", "RUN", "COPY"];
const PROXIES = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/** Makes sure that the daemon has the base image of the Dockerfile; pulls it if not. */
export async function getBaseImage(
  { docker, signal, onStep, onDetail }: Pick<ImageBuild, "docker" | "signal" | "onStep" | "onDetail">,
  base = baseImageName(),
): Promise<void> {
  const present = await docker.listImages({ filters: { reference: [base] } });
  if (present.length > 0) return;
  onStep(`pulling ${base}`);
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const either = AbortSignal.any([signal, silence.signal]);
  try {
    const stream = await docker.pull(base, { abortSignal: either });
    for await (const event of daemonEvents(stream, either)) {
      timer.refresh();
      onDetail([event.id, event.status, event.progress].filter((word) => word !== undefined).join(" "));
    }
  } catch (error) {
    signal.throwIfAborted();
    const failure = explainDockerFailure(error);
    const isDaemons = failure.code === "BACKEND_UNAVAILABLE" || failure.code === "DISK_FULL";
    if (isDaemons && !silence.signal.aborted) throw failure;
    const why = silence.signal.aborted ? "its registry does not answer" : failure.message;
    throw new SandboxError("IMAGE_MISSING", `${base} cannot be pulled: ${why}`, {
      hint: "Build without a registry: skerry image build --from debootstrap",
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Builds from the Dockerfile. */
export async function buildFromRegistry(order: ImageBuild): Promise<void> {
  const { docker, tag, sets, labels, network, signal, onStep, onDetail } = order;
  const build = randomUUID();
  const proxies = PROXIES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const said: string[] = [];
  onStep("sending the sources");
  try {
    const stream = await docker.buildImage(
      { context: IMAGE_DIRECTORY, src: readdirSync(IMAGE_DIRECTORY) },
      {
        t: tag,
        labels: { ...labels },
        buildargs: { BUILD: build, WITH: sets.join(" "), ...Object.fromEntries(proxies) },
        ...(network !== undefined && { networkmode: network }),
        forcerm: true,
        abortSignal: signal,
      },
    );
    for await (const { stream: text = "" } of daemonEvents(stream, signal)) {
      for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
        const step = /^Step (\d+\/\d+) : (\w+)/.exec(line);
        if (step !== null && WORK.includes(step[2]!)) onStep(`step ${step[1]}: ${step[2]}`);
        else onDetail(line);
        said.push(line);
        if (said.length > 5) said.shift();
      }
    }
  } catch (error) {
    if (error instanceof SandboxError && error.code === "EXECUTION_FAILED") {
      throw new SandboxError(error.code, `${error.message}; before that: ${said.join(" | ")}`, {
        hint: "Without a network in the build's containers try --network host, or --from debootstrap.",
        cause: error,
      });
    }
    throw error;
  } finally {
    await removeIntermediates(order, build);
  }
}

/** Removes the first stage, which nothing refers to any more, and what a cancelled build made. */
async function removeIntermediates({ docker }: ImageBuild, build: string): Promise<void> {
  const filters = { dangling: ["true"], label: [`dev.skerry.build=${build}`] };
  for (const until = Date.now() + CLEAN_UP_MS; Date.now() < until; await sleep(250)) {
    await docker.pruneImages({ filters }).catch(() => undefined);
    const left = await docker.listImages({ filters }).catch(() => []);
    if (left.length === 0) return;
  }
}
