import { PassThrough } from "node:stream";
import Docker from "dockerode";
import { DEFAULT_CONFIG } from "skerry";
import { getBackend } from "skerry/backend";
import type { Benchmark } from "../benchmark.js";
import { interleave, timeMs } from "../measure.js";

const CODE = "print(1)";
const { image } = DEFAULT_CONFIG.sandbox.backends.docker;

export const dockerExec: Benchmark = {
  name: "docker-exec",
  what: "`print(1)` in Python in a running container, through the guest",
  baseline: "`docker exec` of `python3 -c` in a container of the same image, through the API",
  unit: "ms",
  better: "lower",
  goal: 0.1,
  async unavailable(bench) {
    const options = DEFAULT_CONFIG.sandbox.backends.docker;
    const backend = await getBackend("docker", { stateDir: bench.stateDir, options });
    const { available, problems } = await backend.probe();
    if (!available) return `${problems[0]?.what}: ${problems[0]?.remedy}`;
    const isThere = await new Docker()
      .getImage(image)
      .inspect()
      .then(Boolean, () => false);
    return isThere ? undefined : `there is no image ${image}: skerry image build`;
  },
  async measure(bench) {
    const docker = new Docker();
    const sandbox = await bench
      .manager({ backend: "docker", warm: true })
      .startSandbox("bench", { ephemeral: true });
    const container = await docker.createContainer({
      Image: image,
      Entrypoint: ["sleep"],
      Cmd: ["infinity"],
      User: "1000:1000",
      HostConfig: { NetworkMode: "none", AutoRemove: true, ReadonlyRootfs: true },
    });
    try {
      await container.start();
      await sandbox.prewarm("python");
      return await interleave(
        bench,
        { rounds: bench.rounds(200), warmUp: 5 },
        () =>
          timeMs(async () => {
            const { stdout, stderr } = await sandbox.runCode(CODE, { language: "python" });
            if (stdout !== "1\n") throw new Error(`it printed ${JSON.stringify(stdout)}: ${stderr}`);
          }),
        () => timeMs(() => execInside(docker, container)),
      );
    } finally {
      await container.remove({ force: true }).catch(() => undefined);
    }
  },
};

/** As `docker exec` does it. */
async function execInside(docker: Docker, container: Docker.Container): Promise<void> {
  const exec = await container.exec({
    Cmd: ["python3", "-c", CODE],
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({});
  let stdout = "";
  const sink = new PassThrough().on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  docker.modem.demuxStream(stream, sink, process.stderr);
  await new Promise((resolve, reject) => stream.once("end", resolve).once("error", reject));
  if (stdout !== "1\n") throw new Error(`docker exec printed ${JSON.stringify(stdout)}`);
}
