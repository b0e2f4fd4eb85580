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
    createConnection(_: unknown, done: (error: Error | null, connection?: Duplex) => void): void {
      const ssh = spawn("ssh", command, { stdio: ["pipe", "pipe", "pipe"] });
      let complaint = "";
      ssh.stderr.on("data", (chunk: Buffer) => {
        complaint = (complaint + chunk.toString()).slice(-500);
      });
      const connection = Duplex.from({ readable: ssh.stdout, writable: ssh.stdin });
      connection.once("close", () => ssh.kill());
      ssh.once("error", (error) => connection.destroy(error));
      ssh.once("exit", (status) => {
        if (status !== 0 && status !== null) {
          connection.destroy(Object.assign(new Error(complaint.trim()), { code: "ESSH" }));
        }
      });
      done(null, connection);
    },
  });
}
