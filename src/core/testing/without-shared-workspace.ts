import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type {
  BackendFactory,
  CreateSpec,
  Instance,
  Probe,
  SessionDirectory,
} from "../../runtime/backends/index.js";
import { getBackend } from "../../runtime/backends/index.js";
import { removeTree } from "../../runtime/workspace/index.js";

/**
 * A backend as it would be on another machine: its sandboxes have a directory of their own instead of the session's,
 * and everything about files goes through the guest. For tests of that way where a backend that has no other is not at
 * hand.
 */
export function withoutSharedWorkspace(name: string): BackendFactory {
  return (context) => {
    const inner = getBackend(name, context);
    return {
      name: `${name}-over-wire`,
      async probe(options): Promise<Probe> {
        const probe = await (await inner).probe(options);
        return { ...probe, capabilities: { ...probe.capabilities, sharedWorkspace: false } };
      },
      async create(spec) {
        const { directory, remove } = elsewhere(spec);
        try {
          return hideWorkspace(await (await inner).create({ ...spec, directory }), remove);
        } catch (error) {
          await remove();
          throw error;
        }
      },
      async reap() {
        return (await inner).reap();
      },
    };
  };
}

/** Beside the session's files, so that it goes with the session when a process is killed. */
function elsewhere({ id, directory: { path, owner } }: CreateSpec): {
  readonly directory: SessionDirectory;
  readonly remove: () => Promise<void>;
} {
  const name = `remote-${id}`;
  const workspace = join(path, name, "workspace");
  mkdirSync(workspace, { recursive: true });
  chmodSync(join(path, name), 0o711);
  chmodSync(workspace, 0o700);
  if (owner !== undefined) chownSync(workspace, owner.uid, owner.gid);
  const place = openSync(path, "r");
  return {
    directory: { path: join(path, name), ...(owner !== undefined && { owner }) },
    // A session that adopted it has moved it.
    remove: async () => {
      const now = readlinkSync(`/proc/self/fd/${place}`);
      closeSync(place);
      await removeTree(now, name);
    },
  };
}

/** The same instance, whatever else it has; its directory goes with it. */
function hideWorkspace(instance: Instance, remove: () => Promise<void>): Instance {
  return new Proxy(instance, {
    get(target, key) {
      if (key === "hostWorkspace") return undefined;
      if (key === "destroy") return () => target.destroy().then(remove);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** For the process that the suite kills: the backend that this module's address asks for with `?backend=`. */
export default withoutSharedWorkspace(new URL(import.meta.url).searchParams.get("backend") ?? "bubblewrap");
