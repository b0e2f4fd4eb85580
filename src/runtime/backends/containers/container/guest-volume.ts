import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type Docker from "dockerode";
import { findPrebuilt, listRunners } from "../../guest-runtime.js";
import { GUEST_RUNTIME } from "../../linux/guest-layout.js";
import { callDaemon } from "../daemon/call-daemon.js";
import type { GuestMount } from "./container-plan.js";
import { hostLabels, isOrphan, LABEL, makerLabels } from "./labels.js";
import { type TarEntry, writeTar } from "./tar.js";

const CALL_TIMEOUT_MS = 30_000;
const REAP_TIMEOUT_MS = 5000;
/** Who has another build may want it again, at no great cost: while two take turns they need not fill it every time. */
const OLD_BUILD_AGE_MS = 60 * 60 * 1000;
/** A link to the guest, made last: where it is, everything else is whole. */
const READY = "ready";

/**
 * The guest in a volume of a daemon that does not see our files. Everybody uses the first that there is, of their own
 * machine before others', and no process writes to one that another has made: what its maker did not finish has no guest
 * that could start.
 */
export class GuestVolumes {
  readonly #docker: Docker;
  readonly #stateDir: string;
  readonly #unusable = new Set<string>();
  readonly #found = new Map<string, Promise<string>>();

  constructor(docker: Docker, stateDir: string) {
    this.#docker = docker;
    this.#stateDir = stateDir;
  }

  async find(architecture: string, image: string): Promise<GuestMount> {
    let name = this.#found.get(architecture);
    if (name === undefined) {
      name = this.#findOrFill(architecture, image);
      this.#found.set(architecture, name);
      name.catch(() => this.#found.delete(architecture));
    }
    return { kind: "volume", name: await name, program: READY };
  }

  /** It turned out that no guest starts from it. */
  async forget(guest: GuestMount, architecture: string): Promise<void> {
    if (guest.kind !== "volume") return;
    this.#unusable.add(guest.name);
    if ((await this.#found.get(architecture)?.catch(() => undefined)) === guest.name)
      this.#found.delete(architecture);
    await this.#removeUseless(guest.name).catch(() => undefined);
  }

  /** One without labels the daemon has made, when we named one that was gone. */
  async #removeUseless(name: string): Promise<void> {
    const volume = this.#docker.getVolume(name);
    const found: FoundVolume = await callDaemon(CALL_TIMEOUT_MS, volume.inspect());
    if (found.Labels?.[LABEL.guest] === undefined || (isOwn(found) && isMakerGone(found)))
      await callDaemon(CALL_TIMEOUT_MS, volume.remove());
  }

  async #findOrFill(architecture: string, image: string): Promise<string> {
    const prebuilt = findPrebuilt(architecture);
    const build = `${prebuilt.version}-${architecture}`;
    const { Volumes } = await callDaemon(
      CALL_TIMEOUT_MS,
      this.#docker.listVolumes({ filters: JSON.stringify({ label: [`${LABEL.guest}=${build}`] }) }),
    );
    const usable = (Volumes ?? []).filter(({ Name }) => !this.#unusable.has(Name));
    const names = [...usable.filter(isOwn).map(nameOf).sort(), ...usable.map(nameOf).sort()];
    return names[0] ?? (await this.#fill(`skerry-guest-${build}`, build, prebuilt, image));
  }

  async #fill(
    prefix: string,
    build: string,
    prebuilt: ReturnType<typeof findPrebuilt>,
    image: string,
  ): Promise<string> {
    const id = randomBytes(6).toString("hex");
    const name = `${prefix}-${id}`;
    const labels = makerLabels(this.#stateDir, id);
    await callDaemon(
      CALL_TIMEOUT_MS,
      this.#docker.createVolume({ Name: name, Labels: { ...labels, [LABEL.guest]: build } }),
    );
    // Never started: it is only a way to the volume's files.
    const container = await callDaemon(
      CALL_TIMEOUT_MS,
      this.#docker.createContainer({
        Image: image,
        name: `skerry-fill-${id}`,
        Entrypoint: [`${GUEST_RUNTIME}/${READY}`],
        Labels: labels,
        HostConfig: {
          NetworkMode: "none",
          Mounts: [
            {
              Type: "volume",
              Source: name,
              Target: GUEST_RUNTIME,
              VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: "", Options: {} } },
            },
          ],
        },
      }),
    );
    try {
      const archive = writeTar(entriesOf(prebuilt));
      await callDaemon(CALL_TIMEOUT_MS, container.putArchive(archive, { path: GUEST_RUNTIME }));
    } finally {
      await callDaemon(CALL_TIMEOUT_MS, container.remove({ force: true, v: true })).catch(() => undefined);
    }
    return name;
  }
}

/**
 * Removes volumes that this machine has no use for, whatever directory they were made from: those of other builds, and
 * those that one of these makers, who are gone, was still filling. The daemon refuses while a container has one.
 */
export async function reapGuestVolumes(
  docker: Docker,
  makers: readonly string[],
  now = Date.now(),
): Promise<void> {
  const label = [LABEL.guest, ...Object.entries(hostLabels()).map(([name, value]) => `${name}=${value}`)];
  const { Volumes } = await callDaemon(
    REAP_TIMEOUT_MS,
    docker.listVolumes({ filters: JSON.stringify({ label }) }),
  );
  const { version } = findPrebuilt();
  const useless = ((Volumes ?? []) as FoundVolume[]).filter(({ Labels, CreatedAt = "" }) => {
    const isOtherBuild = !Labels?.[LABEL.guest]?.startsWith(`${version}-`);
    return (
      makers.includes(Labels?.[LABEL.maker] ?? "") ||
      (isOtherBuild && now - Date.parse(CreatedAt) > OLD_BUILD_AGE_MS)
    );
  });
  await Promise.allSettled(
    useless.map(({ Name }) => callDaemon(REAP_TIMEOUT_MS, docker.getVolume(Name).remove())),
  );
}

interface FoundVolume {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly CreatedAt?: string;
}

function nameOf({ Name }: FoundVolume): string {
  return Name;
}

function isOwn({ Labels }: FoundVolume): boolean {
  return Labels?.[LABEL.host] === hostLabels()[LABEL.host];
}

function isMakerGone({ Labels, CreatedAt = "" }: FoundVolume): boolean {
  return isOrphan({ Labels: Labels ?? {}, Created: Date.parse(CreatedAt) / 1000 });
}

function entriesOf({ guest, libraries, runners }: ReturnType<typeof findPrebuilt>): TarEntry[] {
  return [
    ...listRunners(runners).map(({ name, isDirectory }) =>
      isDirectory ? { name, isDirectory } : { name, mode: 0o444, content: readFileSync(join(runners, name)) },
    ),
    ...libraries.map((path) => ({ name: basename(path), mode: 0o444, content: readFileSync(path) })),
    { name: "skerry-guest", mode: 0o555, content: readFileSync(guest) },
    { name: READY, linkTo: "skerry-guest" },
  ];
}
