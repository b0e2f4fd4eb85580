import { spawnSync } from "node:child_process";
import { PYTHON } from "../bench-context.js";
import type { Benchmark } from "../benchmark.js";
import { interleave, median } from "../measure.js";
import { managerFor, startWebServer } from "../web-server.js";

const REQUESTS = 20;
const MAX_ADDED_MS = 3;

/** Makes connections one after the other and prints how long each takes to its first byte, in milliseconds. */
const CLIENT = `
import os, socket, sys, time
from urllib.parse import urlsplit
url, count = sys.argv[1], int(sys.argv[2])
target = urlsplit(url)
proxy = urlsplit(os.environ.get("http_proxy", ""))
at = (proxy.hostname, proxy.port) if proxy.hostname else (target.hostname, target.port)
what = url if proxy.hostname else target.path
request = f"GET {what} HTTP/1.1\\r\\nHost: {target.netloc}\\r\\nConnection: close\\r\\n\\r\\n".encode()
for _ in range(count):
    started = time.perf_counter()
    with socket.create_connection(at) as s:
        s.sendall(request)
        first = s.recv(12)
        print((time.perf_counter() - started) * 1000)
        while s.recv(65536): pass
    assert first == b"HTTP/1.1 200", first
`;

export const egressLatency: Benchmark = {
  name: "egress-latency",
  what: `the first byte of a small request through egress, median of ${REQUESTS}`,
  baseline: "the same request directly",
  unit: "ms",
  better: "lower",
  // The milliseconds that are added count: a ratio of two such small figures says little.
  goal: 50,
  async measure(bench) {
    await using origin = await startWebServer(bench);
    const sandbox = await (await managerFor(bench, origin)).startSandbox("bench");
    const args = ["-c", CLIENT, `${origin.url}/`, String(REQUESTS)];
    const ours = async () => {
      const { stdout, stderr, success } = await sandbox.exec(["python3", ...args], { signal: bench.signal });
      if (!success) throw new Error(`the client inside failed: ${stderr}`);
      return median(stdout.trim().split("\n").map(Number));
    };
    const bare = async () => {
      const { stdout, stderr, status } = spawnSync(PYTHON, args, { env: bench.env, encoding: "utf8" });
      if (status !== 0) throw new Error(`the client failed: ${stderr}`);
      return median(stdout.trim().split("\n").map(Number));
    };
    const samples = await interleave(bench, { rounds: bench.rounds(20), warmUp: 1 }, ours, bare);
    const added = median(samples.ours) - median(samples.baseline);
    return {
      ...samples,
      checks: [{ what: "added to the first byte, p50", value: added, unit: "ms", atMost: MAX_ADDED_MS }],
    };
  },
};
