import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, expect, vi } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { requires } from "../../../../../test/setup/requires.js";
import { waitUntil } from "../../../../kit/wait-until.js";
import { connectDocker } from "../daemon/connect.js";
import { buildImage } from "./images.js";

const { it } = requires("root");
const directory = temporaryDirectory();
afterEach(() => void vi.unstubAllEnvs());

/** Resolves when a process writes no more: then every buffer on the way is full. */
async function untilStill(pid: string): Promise<void> {
  let [written, looks] = ["", 0];
  await waitUntil(() => {
    const now = /^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))![1]!;
    looks = now === written ? looks + 1 : 0;
    written = now;
    return looks === 5;
  });
}

it("ends with the reason when it is cancelled while the archive is sent", async () => {
  // A root that never ends, for a daemon that takes only a part of it.
  const maker = join(directory, "sh");
  const pidFile = join(directory, "pid");
  writeFileSync(maker, `#!/bin/sh\necho $$ > ${pidFile}\nexec cat /dev/zero\n`);
  chmodSync(maker, 0o755);
  vi.stubEnv("PATH", `${directory}:${process.env.PATH}`);
  const interrupt = new AbortController();
  const reason = new Error("interrupted");
  const server = createServer((request, response) => {
    if (request.method === "POST")
      return void request.once("data", () => {
        request.pause();
        untilStill(readFileSync(pidFile, "utf8").trim()).then(
          () => interrupt.abort(reason),
          (error) => interrupt.abort(error),
        );
      });
    const answer = request.url?.includes("version")
      ? { Arch: process.arch === "x64" ? "amd64" : process.arch }
      : [];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }).listen(join(directory, "socket"));
  await once(server, "listening");
  const docker = await connectDocker({ host: `unix://${join(directory, "socket")}` });
  const building = buildImage(docker, { from: "debootstrap", signal: interrupt.signal });
  await expect(building).rejects.toBe(reason);
  server.close();
});

it("says how to build without a registry where there is none", async () => {
  const path = join(directory, "registry");
  const server = createServer((request, response) => {
    const status = request.method === "POST" ? 500 : 200;
    const answer = status === 500 ? { message: "Get https://example.test/v2/: dial tcp: refused" } : [];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }).listen(path);
  await once(server, "listening");
  const docker = await connectDocker({ host: `unix://${path}` });
  await expect(buildImage(docker, { from: "registry" })).rejects.toMatchObject({
    code: "IMAGE_MISSING",
    message: expect.stringContaining("there is no base image: "),
    hint: expect.stringContaining("skerry image build --from debootstrap"),
  });
  server.close();
});
