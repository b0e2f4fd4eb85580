import { SandboxError, systemCode } from "../../errors.js";
import { visible } from "../../visible.js";

const START =
  "Start it (systemctl start docker), or say where it is: DOCKER_HOST. `skerry doctor` says what is found.";

/** System errors on the way to the daemon: what they mean to a person, and what to do. */
const ON_THE_WAY: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  ENOENT: ["there is no Docker daemon here: its socket is missing", START],
  ECONNREFUSED: ["no Docker daemon answers", START],
  EACCES: [
    "this user may not talk to the Docker daemon",
    "Run as root, or add the user to the group docker (that is as good as root), or use rootless Docker.",
  ],
  ECONNRESET: ["the Docker daemon went away", "Try again when it is back: systemctl status docker"],
  EPIPE: ["the Docker daemon went away", "Try again when it is back: systemctl status docker"],
  ETIMEDOUT: [
    "the Docker daemon does not answer",
    "Is its address right, and is the network there? DOCKER_HOST",
  ],
  EHOSTUNREACH: ["the Docker daemon's host cannot be reached", "Is its address right? DOCKER_HOST"],
  ENOTFOUND: ["the Docker daemon's host has no address", "Is its name right? DOCKER_HOST"],
  EAI_AGAIN: [
    "the Docker daemon's host has no address",
    "Is its name right, and is the network there? DOCKER_HOST",
  ],
  ESSH: ["the Docker daemon cannot be reached over ssh", "Try: ssh <host> docker version"],
};

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
  const known = code === undefined ? undefined : ON_THE_WAY[code];
  if (known !== undefined) {
    const [message, hint] = known;
    const detail = code === "ESSH" && said !== "" ? `${message}: ${said}` : message;
    return new SandboxError("BACKEND_UNAVAILABLE", detail, { hint, cause: error });
  }
  if (code !== undefined && /CERT|TLS|SSL|EPROTO/.test(code)) {
    return new SandboxError("BACKEND_UNAVAILABLE", `the Docker daemon cannot be trusted: ${said}`, {
      hint: "DOCKER_CERT_PATH must hold the daemon's ca.pem and a certificate that it accepts.",
      cause: error,
    });
  }
  const image = /no such image: ([^\s]+)|(?:manifest|pull access denied) for ([^\s,]+)/i.exec(said);
  if (image !== null) return missingImage((image[1] ?? image[2])!, error);
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
  const ours = /^skerry-sandbox(?::|$)/.test(name);
  return new SandboxError("IMAGE_MISSING", `the Docker daemon has no image ${visible(name)}`, {
    hint: ours ? "Build it: skerry image build" : `Get it: docker pull ${visible(name)}`,
    cause,
  });
}

/** What the daemon said, without dockerode's frame, on one line that can do nothing to a terminal. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const plain = text.replace(/^\(HTTP code \d+\) [^-]*- /, "").trim();
  return visible(plain.replace(/\s*\n\s*/g, " ")).slice(0, 500);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || systemCode(error) === "ABORT_ERR");
}
