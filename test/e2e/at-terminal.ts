import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A person at a pseudo-terminal: waits for words, then types. Prints all that was to be seen, and how it ended. */
const PERSON = `
import json, os, pty, select, signal, sys, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(command[0], command)
seen, at, deadline = b"", 0, time.monotonic() + 60
def read():
    global seen
    if not select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        os.kill(pid, 9)
        sys.exit("timed out; seen: " + repr(seen[-4000:]))
    try: data = os.read(fd, 65536)
    except OSError: data = b""
    seen += data
    return data
for step in steps:
    wanted = step["expect"].encode()
    while seen.find(wanted, at) < 0:
        if not read(): sys.exit("ended early; seen: " + repr(seen[-4000:]))
    at = seen.find(wanted, at) + len(wanted)
    os.write(fd, step["send"].encode())
    if "signal" in step: os.kill(pid, getattr(signal, step["signal"]))
while read(): pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"seen": seen.decode(errors="replace"), "status": status}))
`;

/** What the person waits for, and what they type then. */
export interface Step {
  readonly expect: string;
  readonly send: string;
  /** What the command's process gets then. */
  readonly signal?: string;
}

/** Runs a command on a terminal of its own; the lines of it that were to be seen, without colours, and its status. */
export async function atTerminal(
  command: readonly string[],
  steps: readonly Step[],
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd: string },
): Promise<{ readonly lines: readonly string[]; readonly status: number }> {
  const args = ["-c", PERSON, JSON.stringify(steps), ...command];
  const { stdout } = await run("/usr/bin/python3", args, {
    cwd: options.cwd,
    env: { TERM: "xterm", ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  });
  const { seen, status } = JSON.parse(stdout) as { seen: string; status: number };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  const plain = seen.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, "").replaceAll("\r", "");
  return { lines: plain.split("\n"), status };
}
