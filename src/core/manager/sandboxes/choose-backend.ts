import { SandboxError } from "../../../kit/errors.js";
import type { Probe, SandboxBackend } from "../../../runtime/backends/index.js";
import { backendOptions, getBackend, listBackends } from "../../../runtime/backends/index.js";
import type { SandboxConfig } from "../../config/index.js";

export interface ChosenBackend {
  readonly backend: SandboxBackend;
  readonly probe: Probe;
}

/** The backend of that name, or with "auto" the first that isolates here. Refuses one that cannot run. */
export async function chooseBackend(
  name: string,
  stateDir: string,
  config: SandboxConfig,
): Promise<ChosenBackend> {
  const load = (each: string) =>
    getBackend(each, { stateDir, options: backendOptions(each, config.backends) });
  if (name !== "auto") {
    const backend = await load(name);
    const probe = await backend.probe();
    if (!probe.available) throw notHere(name, probe);
    return { backend, probe };
  }
  const tried: [string, Probe][] = [];
  for (const each of listBackends()) {
    const backend = await load(each);
    const probe = await backend.probe();
    if (probe.available && probe.capabilities.isolates) return { backend, probe };
    if (probe.capabilities.isolates) tried.push([each, probe]);
  }
  throw unavailable(tried);
}

function notHere(name: string, { problems, code }: Probe): SandboxError {
  const [first] = problems;
  return new SandboxError(
    code ?? "BACKEND_UNAVAILABLE",
    `The backend ${name} cannot run here: ${first?.what ?? "no reason given"}`,
    {
      hint: first?.remedy ?? "skerry doctor says what this host lacks.",
    },
  );
}

function unavailable(tried: readonly (readonly [string, Probe])[]): SandboxError {
  // What is wrong with the configuration of the first is wrong for all: nothing has to be installed.
  const first = tried[0]?.[1];
  const [problem] = first?.problems ?? [];
  if (first?.code === "CONFIG_INVALID" && problem !== undefined)
    return new SandboxError(first.code, problem.what, { hint: problem.remedy });
  const reasons = tried.map(
    ([name, { problems }]) => `${name}: ${problems[0]?.what ?? "not available here"}`,
  );
  const remedies = tried.flatMap(([, { problems }]) => problems[0]?.remedy ?? []);
  return new SandboxError("BACKEND_UNAVAILABLE", `No backend can isolate here (${reasons.join("; ")})`, {
    hint: [...new Set(remedies), "skerry doctor --fix installs what is missing."].join(" — or: "),
  });
}
