// Lets the attacks of the group that is the argument have a go at bubblewrap, as this user; one JSON line each.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { report } from "./report.mjs";

const word = randomBytes(12).toString("hex");
const top = mkdtempSync(`/tmp/skerry-attacks-${word}-`);
// A name that says nothing: sandboxes see it.
const stateDir = mkdtempSync("/tmp/skerry-attack-");
const [repo, home] = ["repo", "repo/home"].map((name) => join(top, name));
for (const path of [top, stateDir]) chmodSync(path, 0o755);
const secret = join(repo, "secret.txt");
for (const path of [join(home, ".ssh"), join(home, ".aws")]) mkdirSync(path, { recursive: true });
cpSync("prebuilt/runners", join(repo, "prebuilt/runners"), { recursive: true });
for (const name of ["secret.txt", "home/.ssh/id_ed25519", "home/.aws/credentials", "home/.bashrc"])
  writeFileSync(join(repo, name), `secret ${word}\n`);

// The processor that machine.ts has emulated, which takes at least twenty times as long.
const slowness = readFileSync("/proc/cpuinfo", "utf8").includes("Nehalem") ? 20 : 1;
const groups = process.argv[2].split(",");
const order = { backend: "bubblewrap", stateDir, repo, word, slowness, groups };
const script = new URL("../test/attacks/runner.js", import.meta.url).pathname;
// The secret is open in the caller's process: what runs inside must not inherit it.
const command = 'exec 3<"$1" 40<"$1"; shift; exec "$@"';
const child = spawn(
  "bash",
  ["-c", command, "bash", secret, process.execPath, script, JSON.stringify(order)],
  {
    cwd: repo,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      HOME: home,
      USER: `caller-${word}`,
      LOGNAME: `caller-${word}`,
      SKERRY_SECRET_MARKER: word,
      SKERRY_ATTACK_DESCRIPTORS: "3 40",
    },
  },
);
const ended = new Promise((resolve) => child.once("exit", resolve));
for await (const line of createInterface({ input: child.stdout })) {
  const { name, verdict, detail } = JSON.parse(line);
  const title = `an attacker never ${name}`;
  // Where the processor is emulated, a program may be stopped before it did its worst: that shows nothing.
  if (verdict === "not claimed") await report(title, undefined, detail);
  else if (verdict === "blocked" && detail.includes('"reason":"timeout"'))
    await report(title, undefined, "too slow here to tell");
  else
    await report(title, async () => {
      if (verdict !== "blocked") throw new Error(`${verdict}: ${detail}`);
    });
}
const status = await ended;
// rmSync calls itself for every level: what an attack leaves may be deeper than its stack.
spawnSync("rm", ["-rf", top, stateDir], { stdio: "inherit" });
await report("an attacker never brings the host's own process down", async () => {
  if (status !== 0) throw new Error(`it ended with status ${status}`);
});
