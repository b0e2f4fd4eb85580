import { spawn } from "node:child_process";
import { Agent } from "node:http";
import { Duplex } from "node:stream";

export interface SshTarget {
  readonly hostname: string;
  readonly port: string;
  readonly username: string;
}

/**
 * Carries each request over the system's ssh, as Docker's own client does: known hosts, keys and settings are the
 * user's, and a host that is not known is refused.
 */
export function createSshAgent({ hostname, port, username }: SshTarget): Agent {
  const command = [
    ...["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-T"],
    ...(port === "" ? [] : ["-p", port]),
    ...(username === "" ? [] : ["-l", decodeURIComponent(username)]),
    ...["--", hostname, "docker", "system", "dial-stdio"],
  ];
  return Object.assign(new Agent(), {
    createConnection: (_: unknown, done: (error: Error | null, connection?: Duplex) => void) =>
      void done(null, startSsh(command)),
  });
}

/** One run of ssh as a connection. */
function startSsh(command: readonly string[]): Duplex {
  const ssh = spawn("ssh", command, { stdio: ["pipe", "pipe", "pipe"] });
  const connection = new Duplex({
    read: () => void ssh.stdout.resume(),
    // The end of ssh says why it cannot be written.
    write: (chunk, _, done) => void ssh.stdin.write(chunk, () => done()),
    final: (done) => void ssh.stdin.end(() => done()),
    destroy: (error, done) => {
      ssh.kill();
      done(error);
    },
  });
  let complaint = "";
  ssh.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-500);
  });
  ssh.stdin.on("error", () => undefined);
  ssh.stdout.on("data", (chunk) => {
    if (!connection.push(chunk)) ssh.stdout.pause();
  });
  ssh.once("error", (error) => connection.destroy(failure(error.message)));
  ssh.once("close", (status) => {
    if (status === 0) connection.push(null);
    else connection.destroy(failure(complaint.trim()));
  });
  return connection;
}

function failure(message: string): Error {
  return Object.assign(new Error(message), { code: "ESSH" });
}
