import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { SandboxManager } from "skerry";
import type { BenchContext } from "./bench-context.js";

/** Not 127.0.0.1, which programs reach without a proxy. */
const HOST = "127.0.0.9";

export interface WebServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** Starts a web server that ends with us. */
export async function startWebServer(bench: BenchContext): Promise<WebServer> {
  const program = fileURLToPath(new URL("web-server-process.js", import.meta.url));
  const child = spawn(process.execPath, [program, HOST], {
    env: bench.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  return {
    host: HOST,
    port,
    url: `http://${HOST}:${port}`,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}

/** A manager whose sandboxes may reach that server and nothing else. */
export async function managerFor(bench: BenchContext, { host, port }: WebServer): Promise<SandboxManager> {
  const network = { allowedIps: [`${host}/32`], allowedPorts: [port] };
  return bench.manager({ config: await bench.config({ network }) });
}
