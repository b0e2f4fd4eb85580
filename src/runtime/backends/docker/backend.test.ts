import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { containerOf, sh, useDockerBackend } from "../../../../test/setup/docker-backend.js";
import { requires } from "../../../../test/setup/requires.js";
import { connectDocker } from "../containers/daemon/connect.js";

const { describe, it } = requires("docker", "root");

describe("the docker backend", () => {
  const orders = useDockerBackend("test", 1_900_000_123);
  const { open, order, create, recycle } = orders;

  for (const shareFiles of ["always", "never"]) {
    it(`makes a used container into a clean one (shareFiles ${shareFiles})`, async () => {
      const backend = open({ shareFiles });
      const used = await create(backend);
      await sh(used, "echo secret | tee /workspace/s /tmp/s /dev/shm/s; (setsid sleep 1000 &)");
      const next = await order();
      const fresh = await recycle(backend, used, next);
      expect(fresh.id).toBe(next.id);
      // Over the wire a new one is quicker than to see whether the old one is clean.
      expect(containerOf(fresh) === containerOf(used)).toBe(shareFiles === "always");
      expect(
        await sh(fresh, "cat /workspace/s /tmp/s /dev/shm/s 2>/dev/null; echo /proc/[0-9]*/comm"),
      ).not.toMatch(/secret/);
      expect(await sh(fresh, "grep -l sleep /proc/[0-9]*/comm | wc -l")).toBe("0");
      const client = await connectDocker({ host: orders.docker.host });
      const { Name } = await client.getContainer(containerOf(fresh)).inspect();
      expect(Name).toContain(next.id);
      // The one that was given away is not the one that runs.
      await used.destroy();
      expect(await sh(fresh, "echo alive")).toBe("alive");
    });
  }

  it("never uses a container again that something was written into, and removes it", async () => {
    const backend = open({ shareFiles: "always" });
    const used = await create(backend);
    const client = await connectDocker({ host: orders.docker.host });
    const dirty = client.getContainer(containerOf(used));
    const { GraphDriver } = await dirty.inspect();
    // As if a program had found a way past the read-only root.
    const layer = (GraphDriver.Data as unknown as { UpperDir: string }).UpperDir;
    mkdirSync(join(layer, "usr/bin"), { recursive: true });
    writeFileSync(join(layer, "usr/bin/python3"), "#!/bin/sh\n", { mode: 0o755 });
    const next = await order();
    const fresh = await recycle(backend, used, next);
    expect(fresh.id).toBe(next.id);
    expect(containerOf(fresh)).not.toBe(dirty.id);
    expect(await sh(fresh, "python3 -c 'print(1)'")).toBe("1");
    await expect(dirty.inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it("keeps what a session wrote, and only for that session, when its container is used again", async () => {
    const backend = open({ shareFiles: "always" });
    const first = await order();
    const used = await create(backend, first);
    await sh(used, "echo kept > file");
    const other = await recycle(backend, used);
    expect(await sh(other, "cat file 2>/dev/null; echo none")).toBe("none");
    const again = await create(backend, { ...first, id: `${first.id}-again` });
    expect(await sh(again, "cat file")).toBe("kept");
  });

  it("makes a new container where the old one was made for something else, or is gone", async () => {
    const backend = open();
    const used = await create(backend);
    const larger = await recycle(backend, used, await order({ memoryMb: 512 }));
    expect(containerOf(larger)).not.toBe(containerOf(used));
    const client = await connectDocker({ host: orders.docker.host });
    await client.getContainer(containerOf(larger)).remove({ force: true });
    const after = await recycle(backend, larger, await order({ memoryMb: 512 }));
    expect(await sh(after, "echo alive")).toBe("alive");
  });

  it("runs a language with an image of its own in a container beside, with the same files", async () => {
    const client = await connectDocker({ host: orders.docker.host });
    await client.getImage(orders.docker.image).tag({ repo: "skerry-test-language", tag: "1" });
    const backend = open({ shareFiles: "always", images: { bash: "skerry-test-language:1" } });
    const instance = await create(backend);
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
  });

  it("refuses a language's own image over the wire", async () => {
    const backend = open({ shareFiles: "never", images: { bash: "skerry-test-language:1" } });
    const instance = await create(backend);
    await expect(instance.prepareLanguage!("bash")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it("never uses a volume whose maker did not finish it", async () => {
    const client = await connectDocker({ host: orders.docker.host });
    const backend = open({ shareFiles: "never" });
    await create(backend);
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
      const instance = await create(open({ shareFiles: "never" }));
      expect(await sh(instance, "echo alive")).toBe("alive");
    } finally {
      await client.getVolume(name).remove({ force: true });
    }
  });

  it("works with a daemon elsewhere: files over the wire, and figures from its statistics", async () => {
    const socket = orders.docker.host.replace("unix://", "");
    const gate = createServer((client) => {
      const daemon = connect(socket);
      daemon.on("error", () => client.destroy()).pipe(client);
      client.on("error", () => daemon.destroy()).pipe(daemon);
    });
    await once(gate.listen(0, "127.0.0.1"), "listening");
    const backend = open({ host: `tcp://127.0.0.1:${(gate.address() as AddressInfo).port}` });
    try {
      expect((await backend.probe()).capabilities.sharedWorkspace).toBe(false);
      const instance = await create(backend);
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
  });

  it("shows the host's files in the workspace, and nothing of the host in /etc", async () => {
    const instance = await create(open({ shareFiles: "always" }));
    writeFileSync(join(instance.hostWorkspace!, "from-host"), "x", { mode: 0o644 });
    expect(await sh(instance, "cat from-host; id -un; cat /etc/resolv.conf /etc/hostname")).toBe(
      "xagent\nnameserver 127.0.0.1\nskerry",
    );
  });
});
