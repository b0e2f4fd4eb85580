import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../src/core/metrics/index.js";
import { createServerMetrics } from "../src/server/status/server-metrics.js";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const UNIT = join(ROOT, "deploy/systemd/skerry.service");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
/** Every value of a setting in the unit. */
const settings = (name: string) =>
  [...readFileSync(UNIT, "utf8").matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(({ 1: value }) => value!);

describe("the unit for systemd", () => {
  requires("systemd").it("is one that systemd takes", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", UNIT], {
      encoding: "utf8",
    });
    // Where the program is not installed, systemd says that `env` finds it.
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  requires("root", "bubblewrap", "cgroups").it(
    "leaves the server what sandboxes take: its capabilities, and nothing to write to but its state",
    () => {
      const [capabilities] = settings("CapabilityBoundingSet");
      const kept = capabilities!.split(" ").map((name) => `+${name.replace("CAP_", "").toLowerCase()}`);
      expect([settings("ProtectSystem"), settings("ProtectHome"), settings("PrivateTmp")]).toEqual([
        ["strict"],
        ["yes"],
        ["yes"],
      ]);
      const directory = temporaryDirectory();
      // What systemd does before it starts the server, in this order.
      const script = `
        set -e
        mount --make-rprivate /
        mount --bind "${ROOT}" /mnt
        mount --bind "${directory}" /srv
        mount -o remount,ro,bind /
        mount -o remount,ro,bind /mnt
        mount -t tmpfs tmpfs /tmp -o mode=1777
        mount -t tmpfs tmpfs /home -o mode=0,ro
        mount -t tmpfs tmpfs /root -o mode=0,ro
        exec setpriv --bounding-set=-all,${kept.join(",")} --inh-caps=-all --no-new-privs "$@"
      `;
      const command = ["sh", "-c", "id -u; touch kept; ls"];
      const skerry = [
        "/mnt/dist/bin/skerry.cjs",
        "exec",
        "--session",
        "s",
        "--memory",
        "64mb",
        "--cpus",
        "0.5",
      ];
      const { status, stdout, stderr } = spawnSync(
        "unshare",
        ["--mount", "sh", "-c", script, "unit", process.execPath, ...skerry, "--", ...command],
        {
          encoding: "utf8",
          stdio: ["ignore", "pipe", "pipe"],
          env: { PATH: process.env.PATH ?? "/usr/bin:/bin", SKERRY_STATE_DIR: "/srv" },
        },
      );
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "1000\nkept\n", stderr: "" });
    },
  );
});

describe("the rules for Prometheus", () => {
  it("are about series that the server has", async () => {
    const metrics = await createMetrics({ processMetrics: true });
    await createServerMetrics(metrics, "0.0.0");
    const names = metrics.registry.getMetricsAsArray().map(({ name }) => name);
    const { groups } = parse(read("deploy/prometheus/skerry-rules.yml")) as {
      groups: {
        rules: { alert: string; expr: string; annotations: { summary: string; action: string } }[];
      }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    const used = rules.flatMap(({ expr }) => expr.match(/\b(?:skerry|sandbox|nodejs|process)_\w+/g) ?? []);
    expect(used.filter((name) => !names.includes(name))).toEqual([]);
    expect(rules.filter(({ annotations }) => !annotations?.summary || !annotations.action)).toEqual([]);
    const tested = [...read("deploy/prometheus/skerry-rules-test.yml").matchAll(/alertname: (\w+)/g)];
    const alerts = rules.map(({ alert }) => alert);
    expect(tested.map(({ 1: alert }) => alert).filter((alert) => !alerts.includes(alert!))).toEqual([]);
  });
});
