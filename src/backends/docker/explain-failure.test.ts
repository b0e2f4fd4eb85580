import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SandboxError } from "../../errors.js";
import { visible } from "../../visible.js";
import { connectDocker } from "./connect.js";
import { explainDockerFailure } from "./explain-failure.js";

const directory = mkdtempSync(join(tmpdir(), "skerry-failure-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

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
    expect((await failureAt(join(directory, "missing"))).toJSON()).toEqual({
      code: "BACKEND_UNAVAILABLE",
      message: "there is no Docker daemon here: its socket is missing",
      hint: expect.stringContaining("DOCKER_HOST"),
    });
  });

  it("says that the daemon went away", async () => {
    const failure = await failureAt(join(directory, "reset"), (request) => request.socket.destroy());
    expect(failure).toMatchObject({ code: "BACKEND_UNAVAILABLE", message: "the Docker daemon went away" });
  });

  it.each([
    ["our image", "No such image: skerry-sandbox:latest", "Build it: skerry image build"],
    ["another image", "No such image: python:3.11-slim", "Get it: docker pull python:3.11-slim"],
  ])("says how to get %s", async (name, message, hint) => {
    const failure = await failureAt(join(directory, name.replace(" ", "-")), says(404, message));
    expect([failure.code, failure.hint]).toEqual(["IMAGE_MISSING", hint]);
  });

  it.each([
    ["a full disk", 500, "write /x: no space left on device", "DISK_FULL"],
    ["a runtime it lacks", 400, "Unknown runtime specified runsc", "BACKEND_UNAVAILABLE"],
    ["another refusal", 409, "Conflict.\n\u001b[31mThe name is taken", "SANDBOX_START_FAILED"],
  ])("tells %s apart", async (name, status, message, code) => {
    const failure = await failureAt(join(directory, name.replaceAll(" ", "-")), says(status, message));
    expect(failure.code).toBe(code);
    expect(failure.message).toBe(visible(failure.message));
    expect(failure.message).not.toContain("HTTP code");
  });

  it.each([
    ["EACCES", "this user may not talk to the Docker daemon"],
    ["ECONNREFUSED", "no Docker daemon answers"],
  ])("knows %s", (code, message) => {
    const error = Object.assign(new Error(`connect ${code} /secret/docker.sock`), { code });
    expect(explainDockerFailure(error)).toMatchObject({ code: "BACKEND_UNAVAILABLE", message, cause: error });
  });

  it("keeps an error of ours, and takes an abort for a cancellation", () => {
    const ours = new SandboxError("DISK_FULL", "x");
    expect(explainDockerFailure(ours)).toBe(ours);
    expect(explainDockerFailure(new DOMException("x", "AbortError"))).toMatchObject({ code: "CANCELLED" });
  });
});
