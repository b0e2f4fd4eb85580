// Runs in the virtual machine, as root: takes orders from the host, one JSON line each, and says what came of them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync, openSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { createInterface } from "node:readline";

const PORT = "/dev/virtio-ports/skerry";
const CHECKOUT = "/work/checkout";

const SERVICE = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect"];

/** How each caller of the matrix comes to its process. */
const CALLERS = {
  // As a service of root's, which is also what a login of root's amounts to here.
  root: () => ({ user: "root", start: [...SERVICE, "--working-directory", CHECKOUT] }),
  // A login: PAM starts the user's manager, and the process is in a scope of the session.
  login: () => ({ user: "agent", start: [...SERVICE, "runuser", "-l", "agent", "--"] }),
  plain: () => ({ user: "plain", start: userService("plain") }),
  service: () => ({ user: "service", start: userService("service", "--property", "Delegate=yes") }),
};

function userService(user, ...more) {
  return [...SERVICE, "--working-directory", CHECKOUT, "--property", `User=${user}`, ...more];
}

// Nobody could use the machine any more, and the host would wait for it.
process.on("uncaughtException", (error) => {
  console.error(error);
  spawn("systemctl", ["poweroff", "--force", "--force"]);
});

while (!existsSync(PORT)) await new Promise((resolve) => setTimeout(resolve, 100));
// A port can be open once only.
const port = openSync(PORT, "r+");
const out = createWriteStream("", { fd: port });
const say = (event) => out.write(`${JSON.stringify(event)}\n`);

async function run({ as, command, timeoutSeconds }) {
  const { user, start } = CALLERS[as]();
  const script = `cd ${CHECKOUT} && ${command}`;
  const argv = [...start, "timeout", "--kill-after=30", String(timeoutSeconds), "bash", "-c", script];
  await finished("chown", ["-R", "--no-dereference", `${user}:${user}`, CHECKOUT]);
  const startedAt = Date.now();
  const child = spawn(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    createInterface(stream).on("line", (line) => say({ event: "output", line }));
  }
  const [status] = await once(child, "close");
  say({ event: "exit", status: status ?? -1, seconds: Math.round((Date.now() - startedAt) / 1000) });
}

async function finished(program, argv) {
  const [status] = await once(spawn(program, argv, { stdio: "inherit" }), "close");
  if (status !== 0) throw new Error(`${program} ${argv.join(" ")}: ${status}`);
}

const name = /PRETTY_NAME="(.*)"/.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
say({ event: "ready", system: name, kernel: release() });
for await (const line of createInterface(createReadStream("", { fd: port }))) {
  const order = JSON.parse(line);
  if (order.stop === true) await finished("systemctl", ["poweroff", "--no-block"]);
  else
    await run(order).catch((error) => say({ event: "exit", status: -1, seconds: 0, error: String(error) }));
}
