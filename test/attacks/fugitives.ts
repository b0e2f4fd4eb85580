import type { Attack } from "./attack.js";
import { findProcesses, uniqueSleep } from "./host.js";

const group = "processes" as const;

/** Programs that start `sleep MARK` and want it to outlive them. */
const FUGITIVES: Readonly<Record<string, string>> = {
  "a double-forked grandchild in a session of its own": `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: flee()
    os._exit(0)
os.wait()`,
  "a child made with CLONE_PARENT": `
SIGCHLD, CLONE_PARENT = 17, 0x8000
result, error = syscall("clone", CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if result == 0: os.setsid(); flee()`,
  "a grandchild after it stopped being a subreaper": `
libc.prctl(36, 0, 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: libc.prctl(1, 0, 0, 0, 0); flee()
    os._exit(0)
os.wait()`,
  "a child in the place of the process that keeps its memory": `
CLONE_WAIT = 0x40000000
def children(): return [int(pid) for pid in read("/proc/self/task/%d/children" % os.getpid()).split()]
for keeper in children():
    try: os.kill(keeper, signal.SIGKILL); os.waitpid(keeper, CLONE_WAIT)
    except OSError: continue
    for _ in range(40000):
        child = os.fork()
        if child == 0:
            if os.getpid() != keeper: os._exit(0)
            os.setsid()
            if os.fork() == 0: flee()
            signal.pause()
        if child == keeper: break
        os.waitpid(child, 0)`,
  "a child that ignores every signal it can": `
if os.fork() == 0:
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    os.setsid(); flee()`,
  "a child that closed its output": `
if os.fork() == 0:
    os.setsid(); os.closerange(0, 64); flee()`,
  "a child that is stopped": `
if os.fork() == 0:
    os.setsid(); time.sleep(0.02) or os.kill(os.getpid(), signal.SIGSTOP); flee()
time.sleep(0.01)`,
  "a chain that keeps forking itself": `
if os.fork() == 0:
    os.setsid()
    end = time.time() + 30
    while time.time() < end:
        if os.fork() != 0: os._exit(0)
        os.setsid()
    flee()`,
  "threads and a child of a thread": `
import threading
def work():
    if os.fork() == 0: os.setsid(); flee()
thread = threading.Thread(target=work); thread.start(); thread.join()`,
};

function fugitive(how: string, code: string, after: "exit" | "timeout"): Attack {
  return {
    name: `keeps ${how} alive after ${after === "exit" ? "its end" : "a timeout"}`,
    group,
    run: async (context) => {
      const mark = uniqueSleep();
      const flee = `
def flee():
    os.execvp("sleep", ["sleep", "${mark}"])
`;
      const linger = after === "exit" ? "time.sleep(0.05)" : "time.sleep(60)";
      const result = await context.python(
        context.sandbox,
        `${flee}${code}\n${linger}`,
        after === "exit" ? 10_000 : 300,
      );
      const inside = await context.sandbox.exec(["ps", "-eo", "args"]).then(
        ({ stdout }) => stdout,
        () => "",
      );
      return {
        stdout: "",
        reason: result.reason,
        observed: { inside: inside.includes(mark), outside: findProcesses(mark).length },
      };
    },
    succeeded: ({ observed }) => observed?.inside === true || observed?.outside !== 0,
    simulated: { stdout: "", observed: { inside: false, outside: 1 } },
  };
}

/** Processes that want to live longer than their command. */
export const fugitiveAttacks: readonly Attack[] = [
  ...Object.entries(FUGITIVES).flatMap(([how, code]) => [
    fugitive(how, code, "exit"),
    fugitive(how, code, "timeout"),
  ]),
  {
    name: "ignores SIGTERM past its timeout",
    group,
    run: async ({ sandbox, python }) => {
      const startedAt = Date.now();
      const { reason } = await python(
        sandbox,
        `
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: time.sleep(1)`,
        400,
      );
      return { stdout: "", reason, observed: { tookMs: Date.now() - startedAt } };
    },
    succeeded: ({ reason, observed }) => reason !== "timeout" || Number(observed?.tookMs) > 3000,
    simulated: { stdout: "", reason: "exited", observed: { tookMs: 60_000 } },
  },
];
