import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../test/setup/clean-up.js";
import { openManager } from "../../test/setup/open-manager.js";
import { requires } from "../../test/setup/requires.js";
import { openPoolSocket, poolFolder } from "../runtime/pool/pool-socket.js";
import { openControlSocket } from "../runtime/sandbox/network/session-control.js";
import { type ControlSocket, listLiveSockets } from "./control-socket.js";

/** Both kinds: of sessions, and of pools. */
const KINDS = {
  control: (stateDir: string) =>
    openControlSocket(stateDir, "s", {
      connect: () => Promise.reject(new Error("no")),
      changeEgress: async () => undefined,
    }),
  pools: (stateDir: string) =>
    openPoolSocket({ stateDir, backend: () => "x" }, () => {
      throw new Error("no");
    }),
} as const;

let stateDir: string;
let sockets: ControlSocket[];

beforeEach(async () => {
  // As ours is: everybody may pass through. What is to be shown is that the folder inside keeps them out.
  stateDir = temporaryDirectory();
  sockets = [];
  for (const open of Object.values(KINDS)) sockets.push((await open(stateDir))!);
});

afterEach(() => Promise.all(sockets.map((socket) => socket.close())));

const pathOf = (kind: string) => listLiveSockets({ stateDir, name: kind })[0]!;

/** What comes of connecting to a socket as this user. */
function connectAs(uid: number, path: string): string {
  const program = `require("net").connect(process.argv[1]).on("connect", () => { console.log("connected"); process.exit(); }).on("error", (e) => console.log(e.code))`;
  const { stdout } = spawnSync(process.execPath, ["-e", program, path], {
    uid,
    gid: uid,
    cwd: "/",
    encoding: "utf8",
  });
  return stdout.trim();
}

requires("root").describe.each(Object.keys(KINDS))("a socket in %s", (kind) => {
  it("cannot be entered by another user", async () => {
    const server = createServer().listen(join(stateDir, "for-all"));
    await new Promise((resolve) => server.once("listening", resolve));
    chmodSync(join(stateDir, "for-all"), 0o777);
    const answers = [
      connectAs(65_534, join(stateDir, "for-all")),
      connectAs(65_534, pathOf(kind)),
      connectAs(0, pathOf(kind)),
    ];
    await new Promise((resolve) => server.close(resolve));
    expect(answers).toEqual(["connected", "EACCES", "connected"]);
  });
});

requires("bubblewrap").describe.each(Object.keys(KINDS))("a socket in %s", (kind) => {
  it("is not there for programs in a sandbox", async () => {
    await using manager = openManager({ backend: "bubblewrap", stateDir });
    const path = pathOf(kind);
    const look = `for each in "$@"; do test -e "$each" && echo "$each is there"; done; echo looked`;
    const argv = ["sh", "-c", look, "sh", path, dirname(path)];
    const sandbox = await manager.startSandbox("s");
    const { stdout } = await sandbox.exec(argv);
    expect(stdout).toBe("looked\n");
    expect(spawnSync(argv[0]!, argv.slice(1), { encoding: "utf8" }).stdout).toBe(
      `${path} is there\n${dirname(path)} is there\nlooked\n`,
    );
  });
});

it("is of its process, and in a folder of its own kind", () => {
  expect(listLiveSockets(poolFolder(stateDir))).toHaveLength(1);
  expect(pathOf("control")).toContain(`/control/${process.pid}-`);
});
