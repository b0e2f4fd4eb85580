import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterEach, expect } from "vitest";
import { containerOf, sh, useDockerBackend } from "../../../../../test/setup/docker-backend.js";
import { requires } from "../../../../../test/setup/requires.js";
import type { Instance } from "../../backend.js";
import { ContainerCgroup } from "../container/container-cgroup.js";
import { GuestVolumes } from "../container/guest-volume.js";
import { containerName, LABEL, makerLabels } from "../container/labels.js";
import { connectDocker } from "../daemon/connect.js";

const { describe, it } = requires("docker", "root");
const UID = 1_900_000_321;
const MB = 1024 * 1024;

describe("a container among others", () => {
  const images: string[] = [];
  // Before the orders' own, so that it comes after: an image that a container uses cannot be removed.
  afterEach(async () => {
    const client = await connectDocker({ host: orders.docker.host });
    for (const image of images.splice(0)) await client.getImage(image).remove({ force: true });
  });
  const orders = useDockerBackend("near", UID);
  const { open, create, recycle } = orders;

  async function inspect(instance: Instance) {
    const client = await connectDocker({ host: orders.docker.host });
    return client.getContainer(containerOf(instance)).inspect();
  }

  /** Undefined where the kernel counts them as memory. */
  async function socketLimit(instance: Instance): Promise<number | undefined> {
    const { Id, State } = await inspect(instance);
    const file = ContainerCgroup.find(Id, State.Pid)?.fileOf("memory.kmem.tcp.limit_in_bytes");
    return file === undefined ? undefined : Number(readFileSync(file, "utf8"));
  }

  for (const shareFiles of ["always", "never"]) {
    it(`has a limit for the buffers of its sockets, also when it is used again (shareFiles ${shareFiles})`, async ({
      skip,
    }) => {
      const backend = open({ shareFiles });
      const used = await create(backend);
      const limit = await socketLimit(used);
      skip(limit === undefined, "cgroup version 2 counts them as memory");
      expect(limit).toBe(64 * MB);
      const again = await recycle(backend, used);
      expect(await socketLimit(again)).toBe(64 * MB);
    });

    it(`is no process of a user that this host may have (shareFiles ${shareFiles})`, async () => {
      const instance = await create(open({ shareFiles }));
      const { State } = await inspect(instance);
      const status = readFileSync(`/proc/${State.Pid}/status`, "utf8");
      expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]).toBe(Array(4).fill(UID).join("\t"));
      expect(
        await sh(instance, "exec 2>&1; echo $USER; echo x > file && stat -c %u file . ; cat ~/file"),
      ).toBe(`agent\n${UID}\n${UID}\nx`);
    });
  }

  /** An image of the sandboxes' own with more in its description. */
  async function derive(name: string, ...changes: string[]): Promise<string> {
    const client = await connectDocker({ host: orders.docker.host });
    const container = await client.createContainer({ Image: orders.docker.image, Cmd: ["true"] });
    try {
      await container.commit({ repo: name, tag: String(process.pid), changes: changes.join("\n") });
    } finally {
      await container.remove({ force: true, v: true });
    }
    images.push(`${name}:${process.pid}`);
    return `${name}:${process.pid}`;
  }

  it("has memory where its image wants volumes, and once where it is ours", async () => {
    const image = await derive("skerry-test-volumes", 'VOLUME ["/tmp/","/workspace","/var//data/"]');
    for (const shareFiles of ["always", "never"]) {
      const instance = await create(open({ image, shareFiles }));
      expect(
        await sh(
          instance,
          "exec 2>&1; grep -c ' /tmp ' /proc/mounts; grep -o '^tmpfs /var/data' /proc/mounts",
        ),
      ).toBe("1\ntmpfs /var/data");
      expect(
        (await inspect(instance)).Mounts.filter(
          ({ Type, Name }) => Type === "volume" && /^[0-9a-f]{64}$/.test(Name ?? ""),
        ),
      ).toEqual([]);
    }
  });

  it.each(["/workspace/output", "/etc", "/opt/skerry/sub", "/dev/shm", "/usr/local/../lib/x"])(
    "refuses an image with a volume at %s",
    async (path) => {
      const image = await derive("skerry-test-volumes", `VOLUME ["${path}"]`);
      await expect(create(open({ image }))).rejects.toMatchObject({
        code: "SANDBOX_START_FAILED",
        message: expect.stringMatching(/declares a volume at \//),
      });
    },
    60_000,
  );

  it("leaves no volume of an image behind when the guest's own volume is filled from it", async () => {
    const image = await derive("skerry-test-volumes", 'VOLUME ["/data"]');
    const client = await connectDocker({ host: orders.docker.host });
    const anonymous = async () =>
      (await client.listVolumes()).Volumes.map(({ Name }) => Name).filter((name) =>
        /^[0-9a-f]{64}$/.test(name),
      );
    const before = await anonymous();
    const empty = Object.create(client, { listVolumes: { value: async () => ({ Volumes: [] }) } });
    const guest = await new GuestVolumes(empty, orders.stateDir).find(process.arch, image);
    // Another test's container may use it, and then that test's host removes it.
    const remove = client.getVolume((guest as { name: string }).name).remove();
    await remove.catch((error) => expect(error).toMatchObject({ statusCode: 409 }));
    expect((await anonymous()).filter((name) => !before.includes(name))).toEqual([]);
  });

  it("is not taken for left behind when a user made it from an image of a sandbox", async () => {
    const client = await connectDocker({ host: orders.docker.host });
    const maker = `${spawnSync("true").pid}-1-sbx-gone`;
    const labels = { ...makerLabels(orders.stateDir, "sbx-gone"), [LABEL.maker]: maker };
    const image = await derive(
      "skerry-test-labels",
      ...Object.entries(labels).map(([name, value]) => `LABEL ${name}="${value}"`),
    );
    const make = (name: string, options: object) =>
      client.createContainer({ name, Cmd: ["true"], ...options });
    const made = await Promise.all([
      make(`bystander-${process.pid}`, { Image: orders.docker.image, Labels: labels }),
      make(containerName("sbx-copy", `copy-${process.pid}`), { Image: image }),
      make(containerName("sbx-gone", `gone-${process.pid}`), { Image: orders.docker.image, Labels: labels }),
    ]);
    try {
      expect(await open().reap()).toBe(1);
      const left = await Promise.all(
        made.map((each) =>
          each.inspect().then(
            () => true,
            () => false,
          ),
        ),
      );
      expect(left).toEqual([true, true, false]);
    } finally {
      for (const each of made) await each.remove({ force: true, v: true }).catch(() => undefined);
    }
  });
});
