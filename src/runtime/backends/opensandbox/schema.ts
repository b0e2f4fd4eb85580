import { z } from "zod";
import { absolutePath, domainLists, durationMs, text } from "../../../kit/schema-fields.js";
import { OPENSANDBOX_DEFAULTS, type OpenSandboxServer } from "./settings.js";

const { mode, local, vke, runtime } = OPENSANDBOX_DEFAULTS;

const serverUrl = z.url({ protocol: /^https?$/, error: "expected an http or https address" });
const quantity = text.regex(
  /^\d+(\.\d+)?([munkMGTPE]|[KMGTPE]i)?$/,
  'expected a quantity such as "500m" or "1Gi"',
);
const server = (initial: OpenSandboxServer) => ({
  serverUrl: serverUrl.default(initial.serverUrl),
  apiKey: z.string().default(initial.apiKey),
  defaultImage: text.default(initial.defaultImage),
});

export const opensandboxSchema = z
  .strictObject({
    mode: z.enum(["local", "vke"]).default(mode),
    local: z.strictObject(server(local)).prefault({}),
    vke: z
      .strictObject({
        ...server(vke),
        namespace: text.default(vke.namespace),
        kubeconfigPath: text.default(vke.kubeconfigPath),
        tos: z
          .strictObject({
            enabled: z.boolean().default(vke.tos.enabled),
            mountPath: absolutePath.default(vke.tos.mountPath),
            pvcName: text.default(vke.tos.pvcName),
          })
          .prefault({}),
      })
      .prefault({}),
    network: z.strictObject(domainLists).prefault({}),
    runtime: z
      .strictObject({
        timeout: durationMs.default(runtime.timeoutMs),
        cpu: quantity.default(runtime.cpu),
        memory: quantity.default(runtime.memory),
      })
      .transform(({ timeout, cpu, memory }) => ({ timeoutMs: timeout, cpu, memory }))
      .prefault({}),
  })
  .prefault({});
