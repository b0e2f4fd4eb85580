import type { BackendFactory, Instance, Probe } from "../backends/backend.js";
import { getBackend } from "../backends/registry.js";

/**
 * A backend as it would be without a directory of this host: everything about files goes through the guest. For
 * tests of that way where a backend that has no other is not at hand.
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
        return hideWorkspace(await (await inner).create(spec));
      },
      async reap() {
        return (await inner).reap();
      },
    };
  };
}

/** The same instance, whatever else it has. */
function hideWorkspace(instance: Instance): Instance {
  return new Proxy(instance, {
    get(target, key) {
      if (key === "hostWorkspace") return undefined;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** For the process that the suite kills: the backend that this module's address asks for with `?backend=`. */
export default withoutSharedWorkspace(new URL(import.meta.url).searchParams.get("backend") ?? "bubblewrap");
