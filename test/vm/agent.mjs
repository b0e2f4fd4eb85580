// Runs in the virtual machine, as root: takes orders from the host, one JSON line each, and says what came of them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  openSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const PORT = "/dev/virtio-ports/skerry";
const CHECKOUT = "/work/checkout";

const SCRIPT = "/run/skerry-vm.sh";
const SERVICE = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect"];

/** How each caller of the matrix comes to its process. systemd would expand `$` in arguments: the command is in a file. */
const CALLERS = {
  root: ["root", (command) => [...SERVICE, ...command]],
  // A login: PAM starts the user's manager, and the process is in a scope of the session.
  login: ["agent", (command) => [...SERVICE, "runuser", "-l", "agent", "-c", command.join(" ")]],
  plain: ["plain", (command) => [...SERVICE, "--property", "User=plain", ...command]],
  service: [
    "service",
    (command) => [...SERVICE, "--property", "User=service", "--property", "Delegate=yes", ...command],
  ],
};

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
  const [user, start] = CALLERS[as];
  writeFileSync(SCRIPT, `cd ${CHECKOUT} && ${command}\n`);
  // Not every file of it: that takes a minute where the processor is emulated.
  const writable = ["", "build", "dist", "node_modules"].map((name) => join(CHECKOUT, name));
  await finished("chown", [`${user}:${user}`, ...writable]);
  const startedAt = Date.now();
  const argv = start(["timeout", "--kill-after=30", String(timeoutSeconds), "bash", SCRIPT]);
  const child = spawn(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on("line", (line) => say({ event: "output", line }));
  }
  const [status] = await once(child, "close");
  // What a login leaves running would be in the way of the next one.
  if (as === "login") spawn("loginctl", ["terminate-user", user], { stdio: "ignore" });
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
