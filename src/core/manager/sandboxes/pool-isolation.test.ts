import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { DOCKER_START_MS, startDocker } from "../../../../test/setup/docker.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { PoolManager } from "../../../runtime/pool/index.js";
import { parseConfig } from "../../config/index.js";

const MARK = "left-by-another-session";
const PORT = 18_234;

/** Leaves something in every place there is, and does not mind what is refused. */
const LEAVE = `
import ctypes, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def record(act):
    try: act()
    except Exception as error: print(act.__name__, error, file=sys.stderr)
def files():
    for root in ("/workspace", "/tmp", "/dev/shm", "/workspace/a/b"):
        os.makedirs(root, exist_ok=True)
        open(root + "/${MARK}", "w").write("${MARK}")
    os.makedirs("/workspace/.local/lib/python3/site-packages", exist_ok=True)
    for name in (".bashrc", ".profile", ".pythonrc", "sitecustomize.py", "usercustomize.py"):
        open("/workspace/" + name, "w").write("# ${MARK}")
    os.chmod("/workspace/a", 0)
def attributes():
    for root in ("/workspace", "/tmp", "/dev/shm"):
        record(lambda: os.setxattr(root, "user.mark", b"${MARK}"))
        record(lambda: os.chmod(root, 0o751))
        record(lambda: os.utime(root, (1, 1)))
def segments():
    segment = libc.shmget(0x5ca1ab1e, 4096, 0o1666)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(segment, None, 0)
    if at not in (None, ctypes.c_void_p(-1).value): ctypes.memmove(at, b"${MARK}", ${MARK.length})
    libc.msgget(0x5ca1ab1e, 0o1666)
    libc.semget(0x5ca1ab1e, 1, 0o1666)
def queues(): libc.mq_open(b"/${MARK}", os.O_CREAT | os.O_RDWR, 0o666, None)
def keys():
    for ring in (-2, -3, -4, -5): libc.syscall(248, b"user", b"${MARK}", b"x", 1, ring)
def processes():
    for argv in (["sleep", "600"], [sys.executable, "-c", """
import socket, time
listener = socket.create_server(("127.0.0.1", ${PORT}))
hidden = socket.socket(socket.AF_UNIX); hidden.bind("\\\\0${MARK}"); hidden.listen()
time.sleep(600)
"""]):
        subprocess.Popen(argv, start_new_session=True, env={**os.environ, "MARK": "${MARK}"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def environment(): os.environ["MARK"] = "${MARK}"
for act in (files, attributes, segments, queues, keys, processes, environment): record(act)
print("left")
`;

/** Says everything that a later session could notice. */
const LOOK = `
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tree(root): return sorted(os.path.join(at, name) for at, dirs, names in os.walk(root) for name in dirs + names
                              if os.path.join(at, name) != os.path.abspath(__file__) and "__pycache__" not in at)
def quiet(act):
    try: return act()
    except Exception as error: return type(error).__name__
def text(path): return open(path, errors="replace").read()
roots = ("/workspace", "/tmp", "/dev/shm")
seen = {
    "files": {root: tree(root) for root in roots + ("/dev/mqueue",)},
    "modes": {root: oct(os.stat(root).st_mode) for root in roots},
    "attributes": {root: quiet(lambda: os.listxattr(root)) for root in roots},
    "old": {root: os.stat(root).st_mtime < 1000 for root in roots},
    "segments": [libc.shmget(0x5ca1ab1e, 0, 0), libc.msgget(0x5ca1ab1e, 0), libc.semget(0x5ca1ab1e, 0, 0)],
    "tables": {name: quiet(lambda: text("/proc/sysvipc/" + name).count("\\n")) for name in ("shm", "msg", "sem")},
    "key": libc.syscall(249, b"user", b"${MARK}", None, 0),
    "sockets": quiet(lambda: text("/proc/net/unix").count("${MARK}")),
    "port": quiet(lambda: socket.create_connection(("127.0.0.1", ${PORT}), 2) and "open"),
    "environment": sorted(os.environ),
    "processes": sorted(quiet(lambda: text("/proc/%s/cmdline" % pid).split("\\0")[0]) for pid in os.listdir("/proc")
                        if pid.isdigit() and "sleep" in str(quiet(lambda: text("/proc/%s/cmdline" % pid)))),
    "uses": quiet(lambda: os.statvfs("/workspace").f_files - os.statvfs("/workspace").f_ffree < 20),
}
print(json.dumps(seen, sort_keys=True))
`;

const TARGETS = [
  {
    title: "bubblewrap",
    backend: "bubblewrap",
    docker: undefined,
    ...requires("root", "bubblewrap", "python3"),
  },
  { title: "docker", backend: "docker", docker: { shareFiles: "always" }, ...requires("docker") },
  {
    title: "docker over the wire",
    backend: "docker",
    docker: { shareFiles: "never" },
    ...requires("docker"),
  },
  { title: "gvisor", backend: "gvisor", docker: { shareFiles: "always" }, ...requires("docker", "gvisor") },
] as const;

let stateDir: string;

beforeEach(() => {
  stateDir = temporaryDirectory();
});

for (const { title, backend, docker, describe, it } of TARGETS) {
  describe(`sandboxes of a pool on ${title}`, () => {
    const open = async (maxInstances: number) => {
      const backends =
        docker === undefined ? {} : { docker: { host: (await startDocker()).host, ...docker } };
      const config = await parseConfig({ sandbox: { backends } });
      const pool = new PoolManager({ backend, minInstances: 1, maxInstances, preload: ["python"] });
      const manager = openManager({ stateDir, config, pool });
      return { manager, pool };
    };

    it(
      "show no session what an earlier one left, wherever that was",
      async () => {
        // Only one: the next session gets what the last one had, where that is used again.
        const { manager, pool } = await open(1);
        const look = async () => {
          const { stdout, stderr } = await manager.execute({ language: "python", code: LOOK });
          return JSON.parse(stdout || JSON.stringify(stderr)) as unknown;
        };
        const untouched = await look();
        expect(untouched).toMatchObject({ files: { "/workspace": [] }, segments: [-1, -1, -1] });
        expect(JSON.stringify(untouched)).not.toContain(MARK);
        // The session that left it still finds it.
        const sandbox = await manager.startSandbox("control", { ephemeral: true });
        await sandbox.runCode(LEAVE, { language: "python" });
        const touched = JSON.parse((await sandbox.runCode(LOOK, { language: "python" })).stdout);
        expect(touched.files["/workspace"]).toContain(`/workspace/${MARK}`);
        expect(touched.files["/tmp"]).toContain(`/tmp/${MARK}`);
        expect(touched.segments[0]).toBeGreaterThanOrEqual(0);
        await sandbox.stop();
        for (let round = 0; round < 2; round++) {
          const { stdout } = await manager.execute({ language: "python", code: LEAVE });
          expect(stdout).toBe("left\n");
          expect(await look()).toEqual(untouched);
        }
        const { created, resets, failures } = pool.status();
        expect({ failures, isReset: resets > 0, wasReplaced: created > 2 }).toEqual(
          docker === undefined
            ? { failures: 0, isReset: false, wasReplaced: true }
            : { failures: 0, isReset: true, wasReplaced: false },
        );
      },
      DOCKER_START_MS,
    );

    it(
      "keep the files of a session for that session alone",
      async () => {
        const { manager } = await open(2);
        const write = (sessionId: string) =>
          manager.execute({ language: "python", code: `open("mine", "w").write("${sessionId}")`, sessionId });
        const read = (sessionId?: string) =>
          manager.execute({
            language: "python",
            code: "import os; print(open('mine').read() if os.path.exists('mine') else 'nothing')",
            ...(sessionId !== undefined && { sessionId }),
          });
        for (const session of ["ann", "ben", "cem"]) {
          expect(await write(session)).toMatchObject({ success: true, sessionId: session });
          await manager.cleanupSession(session);
          expect((await read()).stdout).toBe("nothing\n");
        }
        for (const session of ["ann", "ben", "cem"]) {
          expect((await read(session)).stdout).toBe(`${session}\n`);
          await manager.cleanupSession(session);
        }
        await manager.close();
        expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
        expect(readdirSync(join(stateDir, "sessions")).length).toBe(3);
      },
      DOCKER_START_MS,
    );
  });
}
