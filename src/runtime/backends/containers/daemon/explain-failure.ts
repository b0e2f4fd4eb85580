import { SandboxError, systemCode } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import { DEFAULT_TAG } from "../docker-config.js";
import { addressOf, type DockerAddress, describeAddress, isSystemDaemon } from "./address.js";

/** System errors on the way to the daemon: what they mean to a person; {at} is where. */
const ON_THE_WAY: Readonly<Record<string, string>> = {
  ENOENT: "there is no Docker daemon{at}: its socket is missing",
  ECONNREFUSED: "no Docker daemon answers{at}",
  EACCES: "this user may not talk to the Docker daemon{at}",
  ECONNRESET: "the Docker daemon{at} went away",
  EPIPE: "the Docker daemon{at} went away",
  ETIMEDOUT: "the Docker daemon{at} does not answer",
  EHOSTUNREACH: "the Docker daemon's host cannot be reached{at}",
  ENETUNREACH: "the Docker daemon's host cannot be reached{at}",
  ENOTFOUND: "the Docker daemon's host has no address{at}",
  EAI_AGAIN: "the Docker daemon's host has no address{at}",
  ESSH: "the Docker daemon cannot be reached over ssh{at}",
};

/** What to do when the daemon does not answer. */
export function daemonUnreachableHint(address: DockerAddress | undefined, code?: string): string {
  if (code === "EACCES") {
    return "Run as root, or add the user to the group docker (that is as good as root), or use rootless Docker.";
  }
  if (code === "ESSH") return "Try: ssh <host> docker version";
  const setting = address?.from;
  if (address === undefined || isSystemDaemon(address)) {
    const start = "Start it: systemctl start docker";
    return setting === undefined
      ? `${start} — or say where it is: DOCKER_HOST or backends.docker.host.`
      : `${start}. The address is from ${setting}.`;
  }
  const whose = setting === undefined ? "its address" : setting;
  return address.local
    ? `Is ${whose} right, and does that daemon run?`
    : `Is ${whose} right, does that daemon run, and can it be reached from here?`;
}

/** Turns what dockerode throws into a SandboxError that says what to do. Keeps one that already is. */
export function explainDockerFailure(error: unknown): SandboxError {
  if (error instanceof SandboxError) return error;
  const said = messageOf(error);
  const code = systemCode(error);
  if (isAbort(error)) return new SandboxError("CANCELLED", "cancelled", { cause: error });
  if (code === "ENOSPC" || /no space left on device|disk quota exceeded/i.test(said)) {
    return new SandboxError("DISK_FULL", "the Docker daemon's disk is full", {
      hint: "Make room: docker system df says what takes it, docker system prune removes what nothing uses.",
      cause: error,
    });
  }
  const address = addressOf(error);
  const known = code !== undefined && Object.hasOwn(ON_THE_WAY, code) ? ON_THE_WAY[code] : undefined;
  if (known !== undefined) {
    const message = known.replace("{at}", () => describeAddress(address));
    const detail = code === "ESSH" && said !== "" ? `${message}: ${said}` : message;
    return new SandboxError("BACKEND_UNAVAILABLE", detail, {
      hint: daemonUnreachableHint(address, code),
      cause: error,
    });
  }
  if (code?.startsWith("HPE_") || isNoDaemonsAnswer(error)) return noDaemon(address, said, error);
  if (code !== undefined && /CERT|TLS|SSL|EPROTO/.test(code)) {
    return new SandboxError(
      "BACKEND_UNAVAILABLE",
      `the Docker daemon${describeAddress(address)} cannot be trusted: ${said}`,
      {
        hint: "DOCKER_CERT_PATH must hold the daemon's ca.pem and a certificate that it accepts.",
        cause: error,
      },
    );
  }
  const image = /no such image: ([^\s]+)|(?:manifest|pull access denied) for ([^\s,]+)/i.exec(said);
  if (image !== null) return missingImage((image[1] ?? image[2])!, error);
  const network = /network ([\w.-]+) not found/i.exec(said);
  if (network !== null) {
    return new SandboxError("SANDBOX_START_FAILED", `the Docker daemon has no network ${network[1]}`, {
      hint: 'backends.docker.networkMode is "none", "bridge" or a network of the daemon: docker network ls',
      cause: error,
    });
  }
  const runtime = /(?:unknown or invalid runtime name|unknown runtime specified):? ?([\w.-]*)/i.exec(said);
  if (runtime !== null) {
    return new SandboxError(
      "BACKEND_UNAVAILABLE",
      `the Docker daemon has no runtime ${runtime[1]}`.trimEnd(),
      {
        hint: "Register it: skerry doctor --fix",
        cause: error,
      },
    );
  }
  return new SandboxError("SANDBOX_START_FAILED", `the Docker daemon refused: ${said}`, { cause: error });
}

/** The error of an image that the daemon does not have. */
export function missingImage(name: string, cause?: unknown): SandboxError {
  return new SandboxError("IMAGE_MISSING", `the Docker daemon has no image ${escapeUnsafe(name)}`, {
    hint: howToGet(name),
    cause,
  });
}

function howToGet(name: string): string {
  if (!/^skerry-sandbox(?::[\w.-]+)?$/.test(name)) return `Get it: docker pull ${escapeUnsafe(name)}`;
  const tag = name === "skerry-sandbox" || name === DEFAULT_TAG ? "" : ` --tag ${name}`;
  return `Build it: skerry image build${tag}`;
}

/** What answers there speaks another language. */
export function noDaemon(address: DockerAddress | undefined, said = "", cause?: unknown): SandboxError {
  const hint = /HTTP request to an HTTPS server/i.test(said)
    ? "It wants TLS: set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the certificates."
    : `Is ${address?.from ?? "its address"} right?`;
  const message = `what answers${describeAddress(address)} is not a Docker daemon`;
  return new SandboxError("BACKEND_UNAVAILABLE", message, { hint, cause });
}

/** Every refusal of a daemon is an object with a message. */
function isNoDaemonsAnswer(error: unknown): boolean {
  const { statusCode, json } = (error ?? {}) as { statusCode?: unknown; json?: unknown };
  if (typeof statusCode !== "number" || json === undefined || json === null) return false;
  return typeof (json as { message?: unknown }).message !== "string";
}

/** What the daemon said, without dockerode's frame, on one line that can do nothing to a terminal. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const plain = text.replace(/^\(HTTP code \d+\) [^-]*- /, "").trim();
  return escapeUnsafe(plain.replace(/\s*\n\s*/g, " ")).slice(0, 500);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || systemCode(error) === "ABORT_ERR");
}
