import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { DOCKER_START_MS, startDocker, type TestDocker } from "../../../test/setup/docker.js";
import { requires } from "../../../test/setup/requires.js";
import type { CreateSpec, Instance, SandboxBackend } from "../backend.js";
import { connectDocker } from "./connect.js";
import { createDockerBackend } from "./index.js";
import type { DockerInstance } from "./instance.js";

const { describe, it } = requires("docker", "root");
const OWNER = { uid: 1_900_000_123, gid: 1_900_000_123 };

describe("the docker backend", () => {
  let docker: TestDocker;
  let stateDir: string;
  let count = 0;
  const instances: Instance[] = [];

  beforeAll(async () => {
    docker = await startDocker();
  }, DOCKER_START_MS);
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), "skerry-docker-"));
  });
  afterEach(async () => {
    for (const instance of instances.splice(0)) await instance.destroy();
    expect(readFileSync("/proc/mounts", "utf8")).not.toContain(stateDir);
    rmSync(stateDir, { recursive: true, force: true });
  });

  const open = (options: object = {}): SandboxBackend =>
    createDockerBackend({ stateDir, options: { host: docker.host, image: docker.image, ...options } });

  async function order(limits: CreateSpec["limits"] = {}): Promise<CreateSpec> {
    const path = join(stateDir, `session-${++count}`);
    await mkdir(join(path, "workspace"), { recursive: true });
    await chmod(path, 0o711);
    await chown(join(path, "workspace"), OWNER.uid, OWNER.gid);
    const all = { memoryMb: 256, pids: 64, workspaceMb: 16, workspaceInodes: 512, tmpMb: 8, ...limits };
    return {
      id: `sbx-test-${process.pid}-${count}`,
      sessionKey: `s${count}`,
      ephemeral: false,
      directory: { path, owner: OWNER },
      limits: all,
      requestedLimits: limits,
      filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
    };
  }

  async function sh(instance: Instance, script: string, language?: string): Promise<string> {
    const { stdout, exit } = instance.runner.run({
      argv: ["sh", "-c", script],
      env: instance.baseEnv,
      cwd: "/workspace",
      ...(language !== undefined && { language }),
    });
    const [output] = await Promise.all([text(stdout), exit]);
    return output.trim();
  }

  const containerOf = (instance: Instance) => (instance as DockerInstance).parts.container.id;

  async function create(backend: SandboxBackend, spec: CreateSpec): Promise<Instance> {
    const instance = await backend.create(spec);
    instances.push(instance);
    return instance;
  }

  for (const shareFiles of ["always", "never"]) {
    it(`makes a used container into a clean one (shareFiles ${shareFiles})`, async () => {
      const backend = open({ shareFiles });
      const used = await create(backend, await order());
      await sh(used, "echo secret | tee /workspace/s /tmp/s /dev/shm/s; (setsid sleep 1000 &)");
      const next = await order();
      const fresh = await backend.recycle!(used, next);
      instances.push(fresh);
      expect(fresh.id).toBe(next.id);
      // Over the wire a new one is quicker than to see whether the old one is clean.
      expect(containerOf(fresh) === containerOf(used)).toBe(shareFiles === "always");
      expect(
        await sh(fresh, "cat /workspace/s /tmp/s /dev/shm/s 2>/dev/null; echo /proc/[0-9]*/comm"),
      ).not.toMatch(/secret/);
      expect(await sh(fresh, "grep -l sleep /proc/[0-9]*/comm | wc -l")).toBe("0");
      const client = await connectDocker({ host: docker.host });
      const { Name } = await client.getContainer(containerOf(fresh)).inspect();
      expect(Name).toContain(next.id);
      // The one that was given away is not the one that runs.
      await used.destroy();
      expect(await sh(fresh, "echo alive")).toBe("alive");
    }, 60_000);
  }

  it("never uses a container again that something was written into, and removes it", async () => {
    const backend = open({ shareFiles: "always" });
    const used = await create(backend, await order());
    const client = await connectDocker({ host: docker.host });
    const dirty = client.getContainer(containerOf(used));
    const { GraphDriver } = await dirty.inspect();
    // As if a program had found a way past the read-only root.
    const layer = (GraphDriver.Data as unknown as { UpperDir: string }).UpperDir;
    mkdirSync(join(layer, "usr/bin"), { recursive: true });
    writeFileSync(join(layer, "usr/bin/python3"), "#!/bin/sh\n", { mode: 0o755 });
    const next = await order();
    const fresh = await backend.recycle!(used, next);
    instances.push(fresh);
    expect(fresh.id).toBe(next.id);
    expect(containerOf(fresh)).not.toBe(dirty.id);
    expect(await sh(fresh, "python3 -c 'print(1)'")).toBe("1");
    await expect(dirty.inspect()).rejects.toMatchObject({ statusCode: 404 });
  }, 60_000);

  it("keeps what a session wrote, and only for that session, when its container is used again", async () => {
    const backend = open({ shareFiles: "always" });
    const first = await order();
    const used = await create(backend, first);
    await sh(used, "echo kept > file");
    const other = await backend.recycle!(used, await order());
    instances.push(other);
    expect(await sh(other, "cat file 2>/dev/null; echo none")).toBe("none");
    const again = await create(backend, { ...first, id: `${first.id}-again` });
    expect(await sh(again, "cat file")).toBe("kept");
  }, 60_000);

  it("makes a new container where the old one was made for something else, or is gone", async () => {
    const backend = open();
    const used = await create(backend, await order());
    const larger = await backend.recycle!(used, await order({ memoryMb: 512 }));
    instances.push(larger);
    expect(containerOf(larger)).not.toBe(containerOf(used));
    const client = await connectDocker({ host: docker.host });
    await client.getContainer(containerOf(larger)).remove({ force: true });
    const after = await backend.recycle!(larger, await order({ memoryMb: 512 }));
    instances.push(after);
    expect(await sh(after, "echo alive")).toBe("alive");
  }, 60_000);

  it("runs a language with an image of its own in a container beside, with the same files", async () => {
    const client = await connectDocker({ host: docker.host });
    await client.getImage(docker.image).tag({ repo: "skerry-test-language", tag: "1" });
    const backend = open({ shareFiles: "always", images: { bash: "skerry-test-language:1" } });
    const instance = await create(backend, await order());
    await instance.prepareLanguage!("python");
    await Promise.all([instance.prepareLanguage!("bash"), instance.prepareLanguage!("bash")]);
    await sh(instance, "echo one > file; echo private > /tmp/file");
    expect(await sh(instance, "cat file; cat /tmp/file 2>/dev/null; echo two > file", "bash")).toBe("one");
    expect(await sh(instance, "cat file", "python")).toBe("two");
    const names = await client.listContainers({ filters: { label: [`dev.skerry.sandbox=${instance.id}`] } });
    expect(names.length).toBe(2);
    expect((await instance.usage!())?.memoryLimitBytes).toBe(2 * 256 * 1024 * 1024);
    await instance.destroy();
    const left = { all: true, filters: { label: [`dev.skerry.sandbox=${instance.id}`] } };
    expect(await client.listContainers(left)).toEqual([]);
  }, 60_000);

  it("refuses a language's own image over the wire", async () => {
    const backend = open({ shareFiles: "never", images: { bash: "skerry-test-language:1" } });
    const instance = await create(backend, await order());
    await expect(instance.prepareLanguage!("bash")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  }, 60_000);

  it("never uses a volume whose maker did not finish it", async () => {
    const client = await connectDocker({ host: docker.host });
    const backend = open({ shareFiles: "never" });
    await create(backend, await order());
    const { Volumes } = await client.listVolumes({
      filters: JSON.stringify({ label: ["dev.skerry.guest"] }),
    });
    const [made] = Volumes;
    // First in every list.
    const name = "skerry-guest-0-unfinished";
    await client.createVolume({
      Name: name,
      Labels: { "dev.skerry.guest": made!.Labels["dev.skerry.guest"]! },
    });
    try {
      const instance = await create(open({ shareFiles: "never" }), await order());
      expect(await sh(instance, "echo alive")).toBe("alive");
    } finally {
      await client.getVolume(name).remove({ force: true });
    }
  }, 60_000);

  it("works with a daemon elsewhere: files over the wire, and figures from its statistics", async () => {
    const socket = docker.host.replace("unix://", "");
    const gate = createServer((client) => {
      const daemon = connect(socket);
      daemon.on("error", () => client.destroy()).pipe(client);
      client.on("error", () => daemon.destroy()).pipe(daemon);
    });
    await once(gate.listen(0, "127.0.0.1"), "listening");
    const backend = open({ host: `tcp://127.0.0.1:${(gate.address() as AddressInfo).port}` });
    try {
      expect((await backend.probe()).capabilities.sharedWorkspace).toBe(false);
      const instance = await create(backend, await order());
      expect(instance.hostWorkspace).toBe(undefined);
      expect(await sh(instance, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; id -u")).toBe("1000");
      const usage = await instance.usage!();
      expect(usage).toMatchObject({ memoryLimitBytes: 256 * 1024 * 1024, pidsLimit: 64 });
      expect(usage!.cpuTimeMs).toBeGreaterThan(10);
      expect(usage!.memoryBytes).toBeGreaterThan(10_000);
      expect(await instance.memoryKills()).toBe(0);
      await instance.destroy();
      expect([await instance.usage!(), await instance.memoryKills()]).toEqual([undefined, 0]);
    } finally {
      gate.close();
    }
  }, 60_000);

  it("shows the host's files in the workspace, and nothing of the host in /etc", async () => {
    const instance = await create(open({ shareFiles: "always" }), await order());
    writeFileSync(join(instance.hostWorkspace!, "from-host"), "x", { mode: 0o644 });
    expect(await sh(instance, "cat from-host; id -un; cat /etc/resolv.conf /etc/hostname")).toBe(
      "xagent\nnameserver 127.0.0.1\nskerry",
    );
  }, 60_000);
});
