import { connect } from "node:net";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the test run's main process waits to be asked for a daemon. */
    daemonProxySocket: string;
  }
}

/** Asks the test run's main process for a daemon: the first request starts it, for the whole run. */
export function requestDaemon<Daemon extends object>(kind: string): Promise<Daemon> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(inject("daemonProxySocket"));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    socket.once("error", reject);
    socket.once("end", () => {
      const { error, ...daemon } = JSON.parse(answer) as Daemon & { error?: string };
      if (error === undefined) resolve(daemon as unknown as Daemon);
      else reject(new Error(error));
    });
    socket.write(`${kind}\n`);
  });
}
