// The process that hosts sandbox-runtime, one per sandbox: its library knows one policy per process. It runs as the
// sandbox's user, has no environment, and passes its inherited descriptors to the guest: 0 and 1 are the
// wire, 3 and 4 are the arguments and the filter of the walls that the guest puts up behind sandbox-runtime's.
// It is copied to where that user can read it, so it imports nothing of ours.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { HostRequest } from "./host-request.js";

/**
 * Says its pid on the wire and waits for a line: by then it is in its cgroups. Only then do limits hold that would
 * hinder the process out here.
 */
const GATE = `echo "$$" && read -r _ || exit 70
if [ -n "$2" ]; then ulimit -n "$2"; fi
if [ -n "$3" ]; then ulimit -f "$3"; fi
if [ -w /proc/self/oom_score_adj ]; then echo 500 >/proc/self/oom_score_adj; fi 2>/dev/null
eval "exec $1"`;

const PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/** Per sandbox. */
const MOST_VIOLATIONS = 1000;

// "--args 3 -- <directory> [--pids N]": the launcher's way to call bubblewrap.
const [, , , directory, ...guestArguments] = process.argv.slice(2);
if (process.getuid?.() === 0) throw new Error("refusing to run as root");
if (directory === undefined) throw new Error("no directory");
Object.assign(process.env, { PATH, HOME: directory, TMPDIR: directory });
// What the library protects in its working directory are files of a project. There is none here.
process.chdir(directory);
// Nothing but the guest may speak on the wire.
globalThis.console = new console.Console(process.stderr);

const request = JSON.parse(readFileSync(join(directory, "request.json"), "utf8")) as HostRequest;
const { SandboxManager, SandboxRuntimeConfigSchema } = await import("@anthropic-ai/sandbox-runtime");
const observes = request.writable !== undefined;
await SandboxManager.initialize(SandboxRuntimeConfigSchema.parse(request.settings), undefined, observes);
if (observes) reportViolations(connect(join(directory, "violations.sock")), request.writable);
const command = [request.command, ...guestArguments].join(" ");
// A shell that looks at its standard input could take the wire for a terminal: sh does not.
const wrapped = await SandboxManager.wrapWithSandbox(command, "sh");
const blocks = request.fileSizeMb === undefined ? undefined : Math.round(request.fileSizeMb * 2048);
const limits = [within("Max open files", request.openFiles, 1), within("Max file size", blocks, 512)];
const guest = spawn("/bin/sh", ["-c", GATE, "sh", wrapped, ...limits], { stdio: [0, 1, 2, 3, 4] });
guest.once("error", (error) => {
  throw error;
});
guest.once("exit", async (status) => {
  await SandboxManager.reset();
  process.exit(status ?? 70);
});

/** What the shell is to set: never above what we may have, which it would refuse; the smaller is the stricter. */
function within(name: string, wanted: number | undefined, unit: number): string {
  if (wanted === undefined) return "";
  if (process.platform !== "linux") return String(wanted);
  const line = readFileSync("/proc/self/limits", "utf8")
    .split("\n")
    .find((each) => each.startsWith(name));
  const hard = line?.slice(name.length).trim().split(/\s+/)[1];
  return String(
    hard === undefined || hard === "unlimited" ? wanted : Math.min(wanted, Math.floor(Number(hard) / unit)),
  );
}

/** Passes on what the library's store gets, without what is allowed behind the second walls or part of building them. */
function reportViolations(socket: Socket, writable: readonly string[]): void {
  const store = SandboxManager.getSandboxViolationStore();
  let seen = store.getTotalCount();
  let told = 0;
  socket.unref();
  socket.on("error", () => socket.destroy());
  store.subscribe((kept) => {
    const fresh = store.getTotalCount() - seen;
    seen += fresh;
    for (const { line, timestamp } of fresh > 0 ? kept.slice(-fresh) : []) {
      const path = /^deny \w+ (\/.*)$/.exec(line)?.[1];
      if (path !== undefined && isExpected(path, writable)) continue;
      if (told++ >= MOST_VIOLATIONS) return;
      socket.write(`${JSON.stringify({ at: timestamp.getTime(), what: line.slice(0, 500) })}\n`);
    }
  });
  // A line from the other side asks whether all is said: what came before it has been read by then.
  socket.on("data", () => setTimeout(() => socket.write("\n"), 5));
}

function isExpected(path: string, writable: readonly string[]): boolean {
  if (/^\/proc\/(?:self|thread-self|\d+)\//.test(path) || path === "/proc/sys/user/max_user_namespaces")
    return true;
  return ["/newroot", "/oldroot", ...writable].some((root) => path === root || path.startsWith(`${root}/`));
}
