import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { pipeline } from "node:stream";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";
import { watchMemory } from "../process-memory.js";
import { managerFor, startWebServer, type WebServer } from "../web-server.js";

const MIB = 1024 * 1024;
const BYTES = 256 * MIB;
const MAX_GROWTH_MIB = 64;

export const egressDownload: Benchmark = {
  name: "egress-download",
  what: "256 MiB fetched by curl inside, through egress",
  baseline: "the same curl outside, through a plain TCP relay on Node",
  unit: "MiB/s",
  better: "higher",
  goal: 0.4,
  async measure(bench) {
    await using origin = await startWebServer(bench);
    const relay = await startRelay(origin);
    try {
      const sandbox = await (await managerFor(bench, origin)).startSandbox("bench");
      const path = `/bytes/${BYTES}`;
      const curl = (url: string) => ["-sS", "-o", "/dev/null", "-w", "%{size_download}", url];
      const speed = async (fetch: () => Promise<unknown>) => BYTES / MIB / ((await timeMs(fetch)) / 1000);
      const ours = async () => {
        const { stdout, stderr } = await sandbox.exec(["curl", ...curl(origin.url + path)], {
          signal: bench.signal,
        });
        if (stdout !== String(BYTES)) throw new Error(`curl fetched ${stdout} bytes: ${stderr}`);
      };
      const { port } = relay.address() as AddressInfo;
      const bare = () =>
        bench.run("curl", curl(`http://127.0.0.1:${port}${path}`), { stdout: String(BYTES) });
      const growths: number[] = [];
      const samples = await interleave(
        bench,
        { rounds: bench.rounds(10), warmUp: 1 },
        () => watchMemory(growths, () => speed(ours)),
        () => speed(bare),
      );
      const growth = {
        what: "growth of this process's memory meanwhile, at most",
        value: Math.max(...growths) / MIB,
        unit: "MiB",
        atMost: MAX_GROWTH_MIB,
      };
      return { ...samples, checks: [growth] };
    } finally {
      relay.close();
    }
  },
};

async function startRelay({ host, port }: WebServer): Promise<Server> {
  const server = createServer((client) => {
    const upstream = connect(port, host);
    pipeline(client, upstream, () => undefined);
    pipeline(upstream, client, () => undefined);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}
