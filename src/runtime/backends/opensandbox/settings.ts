export interface OpenSandboxConfig {
  readonly mode: "local" | "vke";
  readonly local: OpenSandboxServer;
  readonly vke: OpenSandboxServer & {
    readonly namespace: string;
    readonly kubeconfigPath: string;
    readonly tos: { readonly enabled: boolean; readonly mountPath: string; readonly pvcName: string };
  };
  readonly network: { readonly allowedDomains: readonly string[]; readonly deniedDomains: readonly string[] };
  /** Quantities as Kubernetes writes them. */
  readonly runtime: { readonly timeoutMs: number; readonly cpu: string; readonly memory: string };
}

export interface OpenSandboxServer {
  readonly serverUrl: string;
  readonly apiKey: string;
  readonly defaultImage: string;
}

const IMAGE = "opensandbox/code-interpreter:v1.0.1";

/** What no configuration means. */
export const OPENSANDBOX_DEFAULTS: OpenSandboxConfig = {
  mode: "local",
  local: { serverUrl: "http://localhost:8080", apiKey: "", defaultImage: IMAGE },
  vke: {
    serverUrl: "http://opensandbox-server.skerry.svc.cluster.local:8080",
    apiKey: "",
    defaultImage: IMAGE,
    namespace: "skerry",
    kubeconfigPath: "~/.kube/config",
    tos: { enabled: true, mountPath: "/tos", pvcName: "skerry-tos-pvc" },
  },
  network: { allowedDomains: [], deniedDomains: [] },
  runtime: { timeoutMs: 300_000, cpu: "500m", memory: "1Gi" },
};
