import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { stopGuest } from "./guest-instance.js";

/** Ignores that its standard input is closed, as a guest that hangs. */
async function startDeaf() {
  const child = spawn(process.execPath, ["-e", "console.log('on'); setInterval(() => {}, 1000)"], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  await once(child.stdout, "data");
  return child;
}

it("kills a guest that does not leave when its wire is closed", async () => {
  const child = await startDeaf();
  await stopGuest(child, (pid) => process.kill(-pid, "SIGKILL"), 10);
  expect(child.signalCode).toBe("SIGKILL");
});

it("waits for the exit of a guest that ended just before it was to be killed", async () => {
  const child = await startDeaf();
  const kill = (pid: number) => {
    process.kill(-pid, "SIGKILL");
    throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
  };
  await stopGuest(child, kill, 10);
  expect(child.signalCode).toBe("SIGKILL");
});

it("rejects when a guest cannot be killed", async () => {
  const child = await startDeaf();
  const refused = Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  const kill = () => {
    throw refused;
  };
  await expect(stopGuest(child, kill, 10)).rejects.toBe(refused);
  child.kill("SIGKILL");
  await once(child, "exit");
});
