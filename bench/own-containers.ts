import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import Docker from "dockerode";

const MAKER = "dev.skerry.maker";

/** The containers of this process in a daemon that others may use too. */
export class OwnContainers {
  /** Ids of all that were made since, also of those that are gone. */
  readonly made = new Set<string>();
  readonly #docker = new Docker();
  #events: Readable | undefined;

  static async watch(): Promise<OwnContainers> {
    const watcher = new OwnContainers();
    const filters = { type: ["container" as const], event: ["create"], label: [MAKER] };
    const events = (await watcher.#docker.getEvents({ filters })) as Readable;
    watcher.#events = events;
    createInterface({ input: events }).on("line", (line) => {
      const { Actor } = JSON.parse(line) as { Actor: { ID: string; Attributes: Record<string, string> } };
      if (isOurs(Actor.Attributes)) watcher.made.add(Actor.ID);
    });
    return watcher;
  }

  /** Fails when the daemon does: none that we know of is not none. */
  async list(): Promise<string[]> {
    const containers = await this.#docker.listContainers({ all: true });
    return containers.filter(({ Labels }) => isOurs(Labels)).map(({ Id }) => Id);
  }

  close(): void {
    this.#events?.destroy();
  }
}

function isOurs(labels: Readonly<Record<string, string>>): boolean {
  return labels[MAKER]?.startsWith(`${process.pid}-`) === true;
}
