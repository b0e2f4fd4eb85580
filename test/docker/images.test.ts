import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { connectDocker } from "../../src/backends/docker/connect.js";
import { type BuiltImage, buildImage, listImages } from "../../src/backends/docker/images.js";
import { baseImageName } from "../../src/backends/docker/images-dockerfile.js";
import { DOCKER_START_MS, startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";

const BUILD_MS = 400_000;
const { describe, it } = requires("linux", "root", "docker", "debootstrap");

/** What every image says of itself, whichever way it was built. */
const LOOK = `
  id; pwd; echo "$PATH"; python --version; node --version | cut -d. -f1
  echo set-user-id: $(find / -xdev -perm /6000 2>/dev/null)
  stat -c '%n %u %a' /workspace /workspace/code /workspace/data /workspace/output /opt/skerry
  cat /etc/apt/sources.list; ls /home /var/lib/apt/lists /var/log
  [ -s /etc/machine-id ] && echo machine-id; command -v gcc npm; exit 0`;
const LOOKS = `uid=1000(agent) gid=1000(agent) groups=1000(agent)
/workspace
/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Python 3.11.2
v20
set-user-id:
/workspace 1000 755
/workspace/code 1000 755
/workspace/data 1000 755
/workspace/output 1000 755
/opt/skerry 0 755
deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
/home:

/var/lib/apt/lists:

/var/log:
`;

describe("image build", { timeout: BUILD_MS }, () => {
  let docker: Docker;
  let before: string[];
  /** Where the making has its directory. */
  let temporary: string;
  const run = randomUUID().slice(0, 8);
  const tags = { debootstrap: `skerry-test-${run}:debian`, registry: `skerry-test-${run}:registry` };
  const cancelled = `skerry-test-${run}:cancelled`;

  beforeAll(async () => {
    docker = await connectDocker({ host: (await startDocker()).host });
    before = await imageIds();
    temporary = mkdtempSync(join(tmpdir(), "skerry-images-"));
    vi.stubEnv("TMPDIR", temporary);
  }, DOCKER_START_MS);

  afterAll(async () => {
    vi.unstubAllEnvs();
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
    for (const name of [...Object.values(tags), baseImageName()]) {
      await docker
        ?.getImage(name)
        .remove({ force: true })
        .catch(() => undefined);
    }
  });

  async function imageIds(): Promise<string[]> {
    return (await docker.listImages()).map(({ Id }) => Id).sort();
  }

  /** Builds, and cancels when a step begins with this. */
  async function cancelAt(step: string, from: BuiltImage["from"]): Promise<unknown> {
    const controller = new AbortController();
    const cancel = (text: string) => {
      if (text.startsWith(step)) setTimeout(() => controller.abort(new Error("enough")), 1500);
    };
    return buildImage(docker, {
      tag: cancelled,
      from,
      network: "host",
      signal: controller.signal,
      onStep: cancel,
    }).catch((error: unknown) => error);
  }

  async function expectNothingLeft(ids: readonly string[]): Promise<void> {
    expect(await imageIds()).toEqual(ids);
    expect(await docker.listContainers({ all: true, filters: { ancestor: [baseImageName()] } })).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
  }

  async function look(
    image: string,
  ): Promise<{ stdout: string; labels: Record<string, string>; layers: number }> {
    const command = ["bash", "-c", LOOK];
    const container = await docker.createContainer({
      Image: image,
      Cmd: command,
      HostConfig: { NetworkMode: "none" },
    });
    try {
      await container.start();
      await container.wait();
      const logs = await container.logs({ stdout: true, stderr: true, follow: false });
      const { Config, RootFS } = await docker.getImage(image).inspect();
      return { stdout: plainLogs(logs), labels: Config.Labels, layers: RootFS.Layers?.length ?? 0 };
    } finally {
      await container.remove({ force: true });
    }
  }

  it("leaves nothing when making it from Debian's packages is cancelled", async () => {
    expect(await cancelAt("getting Debian's base", "debootstrap")).toMatchObject({ message: "enough" });
    await expectNothingLeft(before);
  });

  it("makes it from Debian's packages", async () => {
    const steps: string[] = [];
    const image = await buildImage(docker, {
      tag: tags.debootstrap,
      from: "debootstrap",
      onStep: (text) => steps.push(text),
    });
    expect(image).toMatchObject({ tag: tags.debootstrap, from: "debootstrap", sets: [] });
    expect(steps).toEqual([
      "getting Node.js 20",
      "getting Debian's base",
      "installing packages: base",
      "cleaning up",
      "writing the archive",
    ]);
    const { stdout, labels, layers } = await look(image.id);
    expect(stdout).toBe(LOOKS);
    expect(Object.keys(labels).sort()).toEqual([
      "dev.skerry.image",
      "dev.skerry.languages",
      "dev.skerry.with",
    ]);
    expect(layers).toBe(1);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("lists it", async () => {
    const image = (await listImages(docker)).find((each) => each.tags.includes(tags.debootstrap));
    expect(image).toMatchObject({ languages: ["python", "javascript", "typescript", "bash"], sets: [] });
  });

  it("takes a base image where there is one, and leaves only what it made", async () => {
    // Nobody's registry is asked: the image from before is as good a base as Node's own.
    const [repo = "", tag = ""] = baseImageName().split(":");
    await docker.getImage(tags.debootstrap).tag({ repo, tag });
    const ids = await imageIds();
    expect(await cancelAt("step 9/", "registry")).toMatchObject({ message: "enough" });
    await expectNothingLeft(ids);

    const image = await buildImage(docker, { tag: tags.registry, network: "host" });
    expect(image).toMatchObject({ tag: tags.registry, from: "registry", sets: [] });
    expect(await imageIds()).toEqual([...ids, image.id].sort());
    const { stdout, layers } = await look(image.id);
    expect(stdout).toBe(LOOKS);
    expect(layers).toBe(1);
  });

  it("says what a build needs that fails", async () => {
    const failure = buildImage(docker, { tag: cancelled, from: "registry", network: "none" });
    await expect(failure).rejects.toMatchObject({
      code: "EXECUTION_FAILED",
      hint: expect.stringContaining("--network host"),
    });
    expect((await listImages(docker)).some(({ tags: [tag] }) => tag === cancelled)).toBe(false);
  });
});

/** What a container printed, without the frames of the log's two streams. */
function plainLogs(logs: Buffer): string {
  let text = "";
  for (let at = 0; at + 8 <= logs.length; ) {
    const size = logs.readUInt32BE(at + 4);
    text += logs.toString("utf8", at + 8, at + 8 + size);
    at += 8 + size;
  }
  return text;
}
