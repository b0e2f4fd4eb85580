import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";

export interface ContainerRun {
  readonly image: string;
  /** The seccomp profile as JSON, or "unconfined". */
  readonly profile: string;
  readonly command: readonly string[];
  readonly input?: string;
  readonly runtime?: string;
  /** A directory of this host, read-only at the same path inside. */
  readonly directory?: string;
}

/** Runs a command in a container with every wall of the backend, and the filter that is asked for. */
export async function runInContainer(
  docker: Docker,
  { image, profile, command, input = "", runtime, directory }: ContainerRun,
): Promise<{ status: number; stdout: string; stderr: string }> {
  const memory = 1 << 30;
  const container = await docker.createContainer({
    Image: image,
    Entrypoint: [],
    Cmd: [...command],
    User: "1000:1000",
    WorkingDir: "/workspace",
    Env: ["HOME=/workspace", "LANG=C.UTF-8"],
    ...{ OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true },
    NetworkDisabled: true,
    HostConfig: {
      ...(runtime !== undefined && { Runtime: runtime }),
      ...(directory !== undefined && { Binds: [`${directory}:${directory}:ro`] }),
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", `seccomp=${profile}`],
      PidsLimit: 256,
      Memory: memory,
      MemorySwap: memory,
      Tmpfs: { "/tmp": "exec,size=256m", "/workspace": "exec,size=512m,uid=1000,gid=1000" },
      LogConfig: { Type: "none", Config: {} },
    },
  });
  try {
    const stream = await container.attach({
      stream: true,
      stdin: true,
      stdout: true,
      stderr: true,
      hijack: true,
    });
    const [out, err] = [new PassThrough(), new PassThrough()];
    docker.modem.demuxStream(stream, out, err);
    stream.once("end", () => [out, err].map((each) => each.end()));
    await container.start();
    stream.end(input);
    const [stdout, stderr, { StatusCode }] = await Promise.all([text(out), text(err), container.wait()]);
    return { status: StatusCode, stdout, stderr };
  } finally {
    await container.remove({ force: true });
  }
}
