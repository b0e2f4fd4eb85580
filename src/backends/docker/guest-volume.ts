import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { findPrebuilt } from "../guest-runtime.js";
import { ask } from "./ask.js";
import { GUEST_RUNTIME, type GuestMount } from "./container-options.js";
import { LABEL, makerLabels } from "./labels.js";
import { type TarEntry, writeTar } from "./tar.js";

const CALL_TIMEOUT_MS = 30_000;
/** A link to the guest, made last: where it is, everything else is whole. */
const READY = "ready";

/**
 * The guest in a volume of a daemon that does not see our files. Everybody uses the first that there is, and nobody
 * writes to one that another has made: what its maker did not finish has no guest that could start.
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
  }

  async #findOrFill(architecture: string, image: string): Promise<string> {
    const prebuilt = findPrebuilt(architecture);
    const build = `${prebuilt.version}-${architecture}`;
    const { Volumes } = await ask(
      CALL_TIMEOUT_MS,
      this.#docker.listVolumes({ filters: JSON.stringify({ label: [`${LABEL.guest}=${build}`] }) }),
    );
    const names = (Volumes ?? []).map(({ Name }) => Name).filter((name) => !this.#unusable.has(name));
    return names.sort()[0] ?? (await this.#fill(`skerry-guest-${build}`, build, prebuilt, image));
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
    await ask(
      CALL_TIMEOUT_MS,
      this.#docker.createVolume({ Name: name, Labels: { ...labels, [LABEL.guest]: build } }),
    );
    // Never started: it is only a way to the volume's files.
    const container = await ask(
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
      await ask(CALL_TIMEOUT_MS, container.putArchive(archive, { path: GUEST_RUNTIME }));
    } finally {
      await ask(CALL_TIMEOUT_MS, container.remove({ force: true, v: false })).catch(() => undefined);
    }
    return name;
  }
}

function entriesOf({ guest, memoryKeeper, runners }: ReturnType<typeof findPrebuilt>): TarEntry[] {
  return [
    ...readdirSync(runners).map((name) => ({
      name,
      mode: 0o444,
      content: readFileSync(join(runners, name)),
    })),
    { name: "memory-keeper.so", mode: 0o444, content: readFileSync(memoryKeeper) },
    { name: "skerry-guest", mode: 0o555, content: readFileSync(guest) },
    { name: READY, linkTo: "skerry-guest" },
  ];
}
