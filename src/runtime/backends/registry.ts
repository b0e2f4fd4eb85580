import { SandboxError } from "../../kit/errors.js";
import type { BackendContext, BackendFactory, SandboxBackend } from "./backend.js";

/**
 * `auto` takes the first of these that isolates here. Not by strength alone: gVisor stands behind Docker, since it costs
 * more and lacks things; who wants it asks for it, or for the isolation `kernel`.
 */
const BUILT_IN: Readonly<Record<string, () => Promise<BackendFactory>>> = {
  bubblewrap: async () => (await import("./bubblewrap/backend.js")).createBubblewrapBackend,
  srt: async () => (await import("./srt/backend.js")).createSrtBackend,
  docker: async () => (await import("./docker/backend.js")).createDockerBackend,
  gvisor: async () => (await import("./docker/backend.js")).createGvisorBackend,
  subprocess: async () => (await import("./subprocess/backend.js")).createSubprocessBackend,
};

const registered = new Map<string, BackendFactory>();

/** Adds a backend under a name of its own. Authors test theirs with `skerry/testing`. */
export function registerBackend(name: string, factory: BackendFactory): void {
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name === "auto") {
    throw new SandboxError("INVALID_ARGUMENT", `Not a name for a backend: ${JSON.stringify(name)}`, {
      hint: "Use lower-case letters, digits and dashes; auto is taken.",
    });
  }
  if (Object.hasOwn(BUILT_IN, name) || registered.has(name)) {
    throw new SandboxError("INVALID_ARGUMENT", `A backend is already registered as ${name}`);
  }
  registered.set(name, factory);
}

/** The names that can stand in a configuration, built-in ones first. */
export function listBackends(): string[] {
  return [...Object.keys(BUILT_IN), ...registered.keys()];
}

/** Builds a backend by name. Its libraries are loaded here, not before. */
export async function getBackend(name: string, context: BackendContext): Promise<SandboxBackend> {
  const load = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
  const factory = load === undefined ? registered.get(name) : await load();
  if (factory === undefined) throw unknownBackend(name);
  return factory(context);
}

/** BACKEND_UNKNOWN: it can never stand in a configuration. Whether it works here is another question. */
export function checkBackendName(name: string): void {
  if (name !== "auto" && !listBackends().includes(name)) throw unknownBackend(name);
}

function unknownBackend(name: string): SandboxError {
  return new SandboxError("BACKEND_UNKNOWN", `There is no backend named ${JSON.stringify(name)}`, {
    hint: `Known backends: auto, ${listBackends().join(", ")}.`,
  });
}
