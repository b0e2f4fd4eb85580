// `--memory 64mb` holds: a program that touches 200 MB ends by it, whether or not the machine has swap.
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { report } from "./report.mjs";

const FILE = "/tmp/skerry-vm-touch.py";
writeFileSync(
  FILE,
  "x = bytearray(200_000_000)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('touched', flush=True)\n",
);
await report("a program with 64 MB does not get 200 MB", async () => {
  const args = ["dist/bin/skerry.cjs", "run", "--memory", "64mb", "--json", FILE];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const { reason } = JSON.parse(stdout);
  if (reason !== "memory") throw new Error(`${stdout} ${stderr}`);
});
rmSync(FILE);
