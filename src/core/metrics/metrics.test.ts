import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { Gauge, Registry } from "prom-client";
import { expect, it } from "vitest";
import { createMetrics, type Metrics } from "./index.js";

/** Every series with its value, without help, types and histogram buckets. */
async function series(metrics: Metrics): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line !== "" && !/^#|_bucket\{/.test(line));
}

it("has the names, types and labels that the documents ask for", async () => {
  const metrics = await createMetrics();
  metrics.recordExecution({ tool: "run_code", language: "py", status: "success", durationMs: 1500 });
  metrics.recordExecution({ tool: "file_read", status: "denied", durationMs: 1 });
  metrics.recordViolation({ tool: "shell_exec", reason: "command" });
  metrics.setSandboxUsage("sbx-1", {
    memoryBytes: 1024,
    cpuTimeMs: 250,
    networkSentBytes: 5,
    networkReceivedBytes: 6,
  });
  metrics.recordNetwork({ verdict: "denied", bytesSent: 10, bytesReceived: 20, count: 3 });
  metrics.setPoolSize("idle", 2);
  metrics.recordAlert("cpu");
  expect(await series(metrics)).toEqual([
    'sandbox_executions_total{tool="run_code",language="python",status="success"} 1',
    'sandbox_executions_total{tool="file_read",language="none",status="denied"} 1',
    'sandbox_execution_duration_seconds_sum{tool="run_code"} 1.5',
    'sandbox_execution_duration_seconds_count{tool="run_code"} 1',
    'sandbox_execution_duration_seconds_sum{tool="file_read"} 0.001',
    'sandbox_execution_duration_seconds_count{tool="file_read"} 1',
    'sandbox_memory_usage_bytes{sandbox_id="sbx-1"} 1024',
    'sandbox_cpu_usage_seconds{sandbox_id="sbx-1"} 0.25',
    'sandbox_pool_size{status="idle"} 2',
    'sandbox_policy_violations_total{tool="shell_exec",reason="command"} 1',
    'sandbox_network_connections_total{verdict="allowed"} 0',
    'sandbox_network_connections_total{verdict="denied"} 3',
    'sandbox_network_connections_total{verdict="failed"} 0',
    'sandbox_network_bytes_total{direction="sent"} 10',
    'sandbox_network_bytes_total{direction="received"} 20',
    'sandbox_network_usage_bytes{sandbox_id="sbx-1",direction="sent"} 5',
    'sandbox_network_usage_bytes{sandbox_id="sbx-1",direction="received"} 6',
    'sandbox_resource_alerts_total{resource="cpu"} 1',
    'sandbox_resource_alerts_total{resource="memory"} 0',
  ]);
  const types = (await metrics.text()).match(/^# TYPE .*$/gm);
  expect(types).toEqual([
    "# TYPE sandbox_executions_total counter",
    "# TYPE sandbox_execution_duration_seconds histogram",
    "# TYPE sandbox_memory_usage_bytes gauge",
    "# TYPE sandbox_cpu_usage_seconds gauge",
    "# TYPE sandbox_pool_size gauge",
    "# TYPE sandbox_policy_violations_total counter",
    "# TYPE sandbox_network_connections_total counter",
    "# TYPE sandbox_network_bytes_total counter",
    "# TYPE sandbox_network_usage_bytes gauge",
    "# TYPE sandbox_resource_alerts_total counter",
  ]);
  expect(metrics.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
});

it("sorts durations from a millisecond to five minutes into buckets", async () => {
  const metrics = await createMetrics();
  metrics.recordExecution({ tool: "run_code", status: "success", durationMs: 0.9 });
  metrics.recordExecution({ tool: "run_code", status: "success", durationMs: 299_000 });
  metrics.recordExecution({ tool: "run_code", status: "success", durationMs: Number.NaN });
  const buckets = (await metrics.text()).match(/le="[^"]+",tool="run_code"\} \d+/g);
  expect(buckets?.at(0)).toBe('le="0.001",tool="run_code"} 1');
  expect(buckets?.slice(-3)).toEqual([
    'le="120",tool="run_code"} 1',
    'le="300",tool="run_code"} 2',
    'le="+Inf",tool="run_code"} 2',
  ]);
});

it("counts an unknown label as other", async () => {
  const metrics = await createMetrics();
  const names = ["__proto__", "constructor", "", 'a"} 1\nevil{b="', "x".repeat(10_000)];
  const anything = fc.oneof(fc.string(), fc.constantFrom(...names));
  fc.assert(
    fc.property(anything, anything, anything, anything, (tool, language, status, reason) => {
      metrics.recordExecution({
        tool: `~${tool}`,
        language: `~${language}`,
        status: `~${status}`,
        durationMs: 1,
      });
      metrics.recordViolation({ tool: `~${tool}`, reason: `~${reason}` });
      metrics.setPoolSize(`~${status}`, 1);
    }),
  );
  for (const name of names) {
    metrics.recordExecution({ tool: name, language: name, status: name, durationMs: 1 });
  }
  const found = await series(metrics);
  expect(found.map((line) => line.replace(/ \d.*$/, ""))).toEqual([
    'sandbox_executions_total{tool="other",language="other",status="other"}',
    'sandbox_execution_duration_seconds_sum{tool="other"}',
    'sandbox_execution_duration_seconds_count{tool="other"}',
    'sandbox_pool_size{status="other"}',
    'sandbox_policy_violations_total{tool="other",reason="other"}',
    'sandbox_network_connections_total{verdict="allowed"}',
    'sandbox_network_connections_total{verdict="denied"}',
    'sandbox_network_connections_total{verdict="failed"}',
    'sandbox_network_bytes_total{direction="sent"}',
    'sandbox_network_bytes_total{direction="received"}',
    'sandbox_resource_alerts_total{resource="cpu"}',
    'sandbox_resource_alerts_total{resource="memory"}',
  ]);
});

it("gives announced tools and reasons a series of their own, up to a number", async () => {
  const metrics = await createMetrics({ tools: ["deploy"] });
  const added = Array.from({ length: 200 }, (_, index) => metrics.addTool(`tool_${index}`));
  expect(added.filter(Boolean).length).toBe(99);
  expect(metrics.addTool("deploy")).toBe(true);
  expect(metrics.addReason("quota")).toBe(true);
  expect(metrics.addReason('a"b')).toBe(false);
  metrics.recordViolation({ tool: "deploy", reason: "quota" });
  metrics.recordViolation({ tool: "tool_150", reason: "command" });
  expect((await series(metrics)).filter((line) => line.startsWith("sandbox_policy"))).toEqual([
    'sandbox_policy_violations_total{tool="deploy",reason="quota"} 1',
    'sandbox_policy_violations_total{tool="other",reason="command"} 1',
  ]);
});

it("removes a sandbox's series when it has ended, and keeps at most a thousand", async () => {
  const metrics = await createMetrics();
  for (let index = 0; index < 1200; index++) {
    metrics.setSandboxUsage(`sbx-${index}`, { memoryBytes: index, cpuTimeMs: 0 });
  }
  const count = async () => (await series(metrics)).filter((line) => line.includes("sandbox_id=")).length;
  expect(await count()).toBe(2000);
  for (let index = 1; index < 1200; index++) metrics.removeSandbox(`sbx-${index}`);
  metrics.setSandboxUsage("sbx-1100", { memoryBytes: Number.NaN, cpuTimeMs: 0 });
  metrics.setSandboxUsage("sbx-1101", { memoryBytes: 7, cpuTimeMs: 1000 });
  expect((await series(metrics)).filter((line) => line.includes("sandbox_id="))).toEqual([
    'sandbox_memory_usage_bytes{sandbox_id="sbx-0"} 0',
    'sandbox_memory_usage_bytes{sandbox_id="sbx-1101"} 7',
    'sandbox_cpu_usage_seconds{sandbox_id="sbx-0"} 0',
    'sandbox_cpu_usage_seconds{sandbox_id="sbx-1101"} 1',
  ]);
});

it("shares its series with others of the same registry, and refuses one that has them otherwise", async () => {
  const registry = new Registry();
  const [first, second] = [await createMetrics({ registry }), await createMetrics({ registry })];
  first.recordViolation({ tool: "run_code", reason: "path" });
  second.recordViolation({ tool: "run_code", reason: "path" });
  expect(await series(first)).toContain('sandbox_policy_violations_total{tool="run_code",reason="path"} 2');
  const taken = new Registry();
  new Gauge({ name: "sandbox_executions_total", help: "taken", registers: [taken] });
  await expect(createMetrics({ registry: taken })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

it("tells of this process only when asked to", async () => {
  const registry = new Registry();
  expect(await (await createMetrics({ registry })).text()).not.toContain("process_cpu");
  await createMetrics({ registry, processMetrics: true });
  expect(await (await createMetrics({ registry, processMetrics: true })).text()).toContain("process_cpu");
});

it("does not load the library before metrics are made", () => {
  for (const name of ["index", "labels", "metrics", "monitor", "series"]) {
    const text = readFileSync(fileURLToPath(new URL(`./${name}.ts`, import.meta.url)), "utf8");
    expect(text).not.toMatch(/^import (?!type).*"prom-client"/m);
  }
});
