import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe } from "../../../../kit/escape-unsafe.js";
import { describeAddress } from "./address.js";
import { connectDocker, findDocker } from "./connect.js";
import { readDaemonFacts } from "./daemon-facts.js";
import { daemonUnreachableHint, explainDockerFailure } from "./explain-failure.js";

const directory = temporaryDirectory();

/** What becomes of a request for a container to a daemon that answers like this, or to none. */
async function failureAt(path: string, answer?: RequestListener): Promise<SandboxError> {
  const server = answer === undefined ? undefined : createServer(answer).listen(path);
  if (server !== undefined) await once(server, "listening");
  const docker = await connectDocker({ host: `unix://${path}` });
  const error: unknown = await docker.createContainer({ Image: "x" }).catch((thrown) => thrown);
  server?.close();
  return explainDockerFailure(error);
}

const says =
  (status: number, message: string): RequestListener =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ message }));
  };

describe("explainDockerFailure", () => {
  it("says that there is no daemon", async () => {
    const path = join(directory, "missing");
    expect((await failureAt(path)).toJSON()).toEqual({
      code: "BACKEND_UNAVAILABLE",
      message: `there is no Docker daemon at unix://${path} (backends.docker.host): its socket is missing`,
      hint: "Is backends.docker.host right, and does that daemon run?",
    });
  });

  it.each([
    [
      { DOCKER_HOST: "tcp://127.0.0.1:1" },
      " at tcp://127.0.0.1:1 (DOCKER_HOST)",
      /^Is DOCKER_HOST right, [^`]*$/,
    ],
    [{ DOCKER_HOST: "ssh://me@far" }, " at ssh://me@far (DOCKER_HOST)", /^Is DOCKER_HOST right, [^`]*$/],
    [
      { DOCKER_HOST: "unix:///run/docker.sock" },
      " at unix:///run/docker.sock (DOCKER_HOST)",
      /systemctl start/,
    ],
  ])("says which address it tried, who gave it, and only what helps there: %j", async (env, place, hint) => {
    const address = findDocker({ env });
    expect([describeAddress(address), daemonUnreachableHint(address)]).toEqual([
      place,
      expect.stringMatching(hint),
    ]);
    expect(daemonUnreachableHint(address)).not.toContain("doctor");
  });

  it.each([
    ["an empty refusal", 404, "text/plain", ""],
    ["a web page", 404, "text/html", `<html><body>${"x".repeat(300)}</body></html>`],
    ["other JSON", 403, "application/json", '{"detail":"no"}'],
  ])("knows that it is no daemon by %s", async (name, status, type, body) => {
    const path = join(directory, name.replaceAll(" ", "-"));
    const failure = await failureAt(path, (_, response) => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
    expect([failure.code, failure.message]).toEqual([
      "BACKEND_UNAVAILABLE",
      `what answers at unix://${path} (backends.docker.host) is not a Docker daemon`,
    ]);
  });

  it("knows a server that says yes to everything", async () => {
    const path = join(directory, "yes");
    const server = createServer((_, response) => response.end("<html>welcome</html>")).listen(path);
    await once(server, "listening");
    const asking = connectDocker({ host: `unix://${path}` }).then((docker) => readDaemonFacts(docker, true));
    await expect(asking).rejects.toMatchObject({
      message: expect.stringContaining("is not a Docker daemon"),
    });
    server.close();
  });

  it("says that the daemon went away", async () => {
    const failure = await failureAt(join(directory, "reset"), (request) => request.socket.destroy());
    expect(failure).toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: expect.stringMatching(/^the Docker daemon at .* went away$/),
    });
  });

  it.each([
    ["our image", "No such image: skerry-sandbox:latest", "Build it: skerry image build"],
    [
      "our image under another tag",
      "No such image: skerry-sandbox:two",
      "Build it: skerry image build --tag skerry-sandbox:two",
    ],
    ["another image", "No such image: python:3.11-slim", "Get it: docker pull python:3.11-slim"],
  ])("says how to get %s", async (name, message, hint) => {
    const failure = await failureAt(join(directory, name.replaceAll(" ", "-")), says(404, message));
    expect([failure.code, failure.hint]).toEqual(["IMAGE_MISSING", hint]);
  });

  it.each([
    ["a full disk", 500, "write /x: no space left on device", "DISK_FULL"],
    ["a runtime it lacks", 400, "Unknown runtime specified runsc", "BACKEND_UNAVAILABLE"],
    ["another refusal", 409, "Conflict.\n\u001b[31mThe name is taken", "SANDBOX_START_FAILED"],
  ])("tells %s apart", async (name, status, message, code) => {
    const failure = await failureAt(join(directory, name.replaceAll(" ", "-")), says(status, message));
    expect(failure.code).toBe(code);
    expect(failure.message).toBe(escapeUnsafe(failure.message));
    expect(failure.message).not.toContain("HTTP code");
  });

  it.each([
    ["EACCES", "this user may not talk to the Docker daemon"],
    ["ECONNREFUSED", "no Docker daemon answers"],
  ])("knows %s", (code, message) => {
    const error = Object.assign(new Error(`connect ${code} /secret/docker.sock`), { code });
    expect(explainDockerFailure(error)).toMatchObject({ code: "BACKEND_UNAVAILABLE", message, cause: error });
  });

  it("names the setting of a network that is not there", () => {
    const error = new Error("(HTTP code 404) no such container - network nosuchnet not found");
    expect(explainDockerFailure(error)).toMatchObject({
      message: "the Docker daemon has no network nosuchnet",
      hint: expect.stringContaining("backends.docker.networkMode"),
    });
  });

  it("keeps an error of ours, and takes an abort for a cancellation", () => {
    const ours = new SandboxError("DISK_FULL", "x");
    expect(explainDockerFailure(ours)).toBe(ours);
    expect(explainDockerFailure(new DOMException("x", "AbortError"))).toMatchObject({ code: "CANCELLED" });
  });
});
