import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { connectDocker } from "../../src/runtime/backends/containers/daemon/connect.js";
import { baseImageName } from "../../src/runtime/backends/containers/images/dockerfile.js";
import {
  type BuiltImage,
  buildImage,
  IMAGE_LABEL,
  listImages,
} from "../../src/runtime/backends/containers/images/images.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { DOCKER_START_MS, startDocker, type TestDaemon } from "../setup/docker.js";
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
  let daemon: TestDaemon;
  let docker: Docker;
  /** Where the making has its directory. */
  let temporary: string;
  const repository = `skerry-test-${randomUUID().slice(0, 8)}`;
  const tags = { debootstrap: `${repository}:debian`, registry: `${repository}:registry` };
  const cancelled = `${repository}:cancelled`;
  const steps: string[] = [];
  let makingDebian: Promise<BuiltImage> | undefined;

  beforeAll(async () => {
    daemon = await startDocker();
    docker = await connectDocker({ host: daemon.host });
    temporary = temporaryDirectory();
    vi.stubEnv("TMPDIR", temporary);
  }, DOCKER_START_MS);

  afterAll(async () => {
    vi.unstubAllEnvs();
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
    for (const name of Object.values(tags)) {
      await docker
        ?.getImage(name)
        .remove({ force: true })
        .catch(() => undefined);
    }
  });

  /** The image from Debian's packages: the first test that needs it makes it. */
  function debian(): Promise<BuiltImage> {
    makingDebian ??= buildImage(docker, {
      tag: tags.debootstrap,
      from: "debootstrap",
      onStep: (text) => steps.push(text),
    });
    return makingDebian;
  }

  /** No registry is asked: meanwhile another image has the base's name. */
  async function withBase(image: string, test: () => Promise<void>): Promise<void> {
    const [repo = "", tag = ""] = baseImageName().split(":");
    const [former] = await docker.listImages({ filters: { reference: [baseImageName()] } });
    await docker.getImage(image).tag({ repo, tag });
    try {
      await test();
    } finally {
      if (former === undefined) await docker.getImage(baseImageName()).remove();
      else await docker.getImage(former.Id).tag({ repo, tag });
    }
  }

  /** What builds of this file can have made; others use the daemon too. */
  async function imageIds(): Promise<string[]> {
    return (await docker.listImages())
      .filter(({ RepoTags, Labels }) => {
        const names = (RepoTags ?? []).filter((name) => !name.startsWith("<none>"));
        if (names.length > 0) return names.some((name) => name.startsWith(`${repository}:`));
        return [IMAGE_LABEL, "dev.skerry.build"].some((label) => label in (Labels ?? {}));
      })
      .map(({ Id }) => Id)
      .sort();
  }

  /** Builds, and cancels in the middle of a step: as soon as this is so of what the step has told. */
  async function cancelAt(
    step: string,
    from: BuiltImage["from"],
    isMiddle: (details: readonly string[]) => boolean,
  ): Promise<unknown> {
    const controller = new AbortController();
    let details: string[] | undefined;
    let hasEnded = false;
    const building = buildImage(docker, {
      tag: cancelled,
      from,
      network: "host",
      signal: controller.signal,
      onStep: (text) => {
        details = text.startsWith(step) ? [] : undefined;
      },
      onDetail: (text) => details?.push(text),
    });
    const outcome = building
      .catch((error: unknown) => error)
      .finally(() => {
        hasEnded = true;
      });
    await waitUntil(() => hasEnded || (details !== undefined && isMiddle(details)), BUILD_MS);
    controller.abort(new Error("enough"));
    return outcome;
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
    const before = await imageIds();
    const isUnpacking = () =>
      readdirSync(temporary).some((name) =>
        readFileSync(join(temporary, name, "log"), "utf8").includes("I: Validating "),
      );
    const failure = await cancelAt("getting Debian's base", "debootstrap", isUnpacking);
    expect(failure).toMatchObject({ message: "enough" });
    await expectNothingLeft(before);
  });

  it("makes it from Debian's packages", async () => {
    const image = await debian();
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
    const { tag } = await debian();
    const image = (await listImages(docker)).find((each) => each.tags.includes(tag));
    expect(image).toMatchObject({ languages: ["python", "javascript", "typescript", "bash"], sets: [] });
  });

  it("takes a base image where there is one, and leaves only what it made", async () => {
    // As good a base as Node's own.
    const { tag } = await debian();
    await withBase(tag, async () => {
      const ids = await imageIds();
      // Its container has said something of its own.
      const isInstalling = (details: readonly string[]) => details.some((line) => !line.startsWith(" ---> "));
      const failure = await cancelAt("step 9/", "registry", isInstalling);
      expect(failure).toMatchObject({ message: "enough" });
      await expectNothingLeft(ids);

      const image = await buildImage(docker, { tag: tags.registry, network: "host" });
      expect(image).toMatchObject({ tag: tags.registry, from: "registry", sets: [] });
      expect(await imageIds()).toEqual([...ids, image.id].sort());
      const { stdout, layers } = await look(image.id);
      expect(stdout).toBe(LOOKS);
      expect(layers).toBe(1);
    });
  });

  it("says what a build needs that fails", async () => {
    await withBase(daemon.image, async () => {
      const failure = buildImage(docker, { tag: cancelled, from: "registry", network: "none" });
      await expect(failure).rejects.toMatchObject({
        code: "EXECUTION_FAILED",
        hint: expect.stringContaining("--network host"),
      });
      expect((await listImages(docker)).some(({ tags: [tag] }) => tag === cancelled)).toBe(false);
    });
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
