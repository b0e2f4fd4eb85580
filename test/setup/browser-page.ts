import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** Where a page of ours is, and what it will report. */
export interface BrowserPage extends AsyncDisposable {
  readonly origin: string;
  /** Shows it in a real browser, and resolves to what its script posts to `/report`. */
  report(): Promise<unknown>;
}

const QUIET = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...[
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
  ],
];

/** Serves one page with that script, at an origin of its own. */
export async function servePage(script: () => string): Promise<BrowserPage> {
  let tell: (report: unknown) => void;
  const reported = new Promise<unknown>((resolve) => {
    tell = resolve;
  });
  const http = createServer(async (request, response) => {
    if (request.url === "/report") tell(JSON.parse(await text(request)));
    const isScript = request.url === "/script.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? script() : '<!doctype html><script type="module" src="/script.js"></script>');
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    origin,
    async report() {
      const profile = mkdtempSync(join(tmpdir(), "skerry-chromium-"));
      // A group of its own: it starts helpers that outlive it.
      const child = spawn("/usr/bin/chromium", [...QUIET, `--user-data-dir=${profile}`, `${origin}/`], {
        stdio: "ignore",
        detached: true,
        // It would leave its own in /tmp when it is killed.
        env: { PATH: "/usr/bin:/bin", HOME: profile, TMPDIR: profile },
      });
      const ended = new Promise((resolve) => child.once("exit", resolve));
      try {
        return await Promise.race([reported, ended.then((status) => `the browser ended with ${status}`)]);
      } finally {
        process.kill(-child.pid!, "SIGKILL");
        await ended;
        rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
      }
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
