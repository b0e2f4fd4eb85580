import { text } from "node:stream/consumers";
import { beforeAll, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { parseConfig } from "../../config/index.js";
import { SandboxManager } from "../index.js";

const LISTEN = `
import socket
with socket.create_server(("127.0.0.1", 8000)) as server:
    while True:
        connection, _ = server.accept()
        with connection: connection.sendall(b"you said " + connection.recv(100))
`;

let stateDir: string;
let manager: SandboxManager;

beforeAll(async () => {
  stateDir = temporaryDirectory();
  const config = await parseConfig({ sandbox: { network: { allowLocalBinding: true } } });
  manager = openManager({ config, stateDir });
});

requires("bubblewrap", "python3").describe("a connection to a port inside", () => {
  it("reaches the program that listens there, and says when none does", async () => {
    const process = await manager.startProcess({ sessionId: "s", language: "python", code: LISTEN });
    process.output.resume();
    await waitUntil(async () => {
      const connection = await manager.connectPort("s", 8000).catch(() => undefined);
      connection?.end();
      return connection !== undefined;
    });
    const connection = await manager.connectPort("s", 8000);
    connection.write("hello");
    expect(await text(connection)).toBe("you said hello");
    await expect(manager.connectPort("s", 8001)).rejects.toMatchObject({
      code: "PORT_FAILED",
      message: "Cannot connect inside the sandbox: ECONNREFUSED",
    });
  });

  it("is no way to the sandbox's own egress proxy, nor into what does not run", async () => {
    await expect(manager.connectPort("s", 3128)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(manager.connectPort("s", 70_000)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(manager.connectPort("none", 8000)).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("needs the ports option", async () => {
    const closed = new SandboxManager({ stateDir, handleSignals: false });
    await expect(closed.connectPort("s", 8000)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await closed.close();
  });
});
