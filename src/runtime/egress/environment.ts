/** Where the guest listens inside. */
export const EGRESS_PORT = 3128;

export interface EnvironmentOptions {
  /** The port on the loopback inside. */
  readonly port?: number;
  /** A file inside with every certificate that programs trust, ours too. Left out: TLS is never terminated. */
  readonly caPath?: string;
  /** The folder inside with `node-egress.cjs`, without which Node before 24 goes around the proxy, and so nowhere. */
  readonly guestRuntime?: string;
  /** Nothing may be reached: clients give up at the first refusal. */
  readonly isClosed?: boolean;
}

/** Read by OpenSSL's users, requests, curl, Node, git, pip, npm, the AWS tools, Deno, cargo and gRPC. */
const CA_VARIABLES = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "GIT_SSL_CAINFO",
  "PIP_CERT",
  "npm_config_cafile",
  "AWS_CA_BUNDLE",
  "DENO_CERT",
  "CARGO_HTTP_CAINFO",
  "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
];

/** A refusal does not change by being asked again: pip, npm and cargo would wait and retry for up to a minute. */
const FIRST_ANSWER_COUNTS = {
  // Its second try comes without a wait, and prints why the first one failed; without one it says nothing of it.
  PIP_RETRIES: "1",
  npm_config_fetch_retries: "0",
  CARGO_NET_RETRY: "0",
  // Read by node-egress.cjs, which then does not load what only an open network is worth.
  SANDBOX_NETWORK: "none",
};

/** The variables that make the usual clients use the egress proxy. */
export function egressEnvironment(options: EnvironmentOptions = {}): Record<string, string> {
  const proxy = `http://127.0.0.1:${options.port ?? EGRESS_PORT}`;
  const direct = "localhost,127.0.0.1,::1,0.0.0.0";
  return {
    ...bothCases("HTTP_PROXY", proxy),
    ...bothCases("HTTPS_PROXY", proxy),
    // Not socks5h: httpx, and with it most clients of language models, then fails without a package for SOCKS.
    ...bothCases("ALL_PROXY", proxy),
    ...bothCases("NO_PROXY", direct),
    NODE_USE_ENV_PROXY: "1",
    // A distribution's pip refuses to install anything, lest it break the system: inside, it has none to break.
    PIP_BREAK_SYSTEM_PACKAGES: "1",
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    ...(options.guestRuntime !== undefined && {
      NODE_OPTIONS: `--require ${quoted(`${options.guestRuntime}/javascript/programs/node-egress.cjs`)}`,
    }),
    ...(options.isClosed === true && FIRST_ANSWER_COUNTS),
    ...(options.caPath !== undefined &&
      Object.fromEntries(CA_VARIABLES.map((name) => [name, options.caPath]))),
  };
}

function bothCases(name: string, value: string): Record<string, string> {
  return { [name]: value, [name.toLowerCase()]: value };
}

function quoted(path: string): string {
  return /[\s"\\]/.test(path) ? JSON.stringify(path) : path;
}
