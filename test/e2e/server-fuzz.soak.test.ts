import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../setup/requires.js";
import { type ServerProcess, startServer } from "../setup/server-process.js";
import { testSeed } from "../setup/test-seed.js";
import { createUser, ROOT, type User } from "./run-skerry.js";

/** Requests for each operation that it makes up, beside those at the edges of every schema. */
const EXAMPLES = process.env["SKERRY_FUZZ_EXAMPLES"] ?? "25";
const ANSWERED_WITHIN_SECONDS = 60;
const LIBRARY = join(ROOT, "build", "python-tools");
/** It makes up JSON-RPC that goes deeper than its own recursion; `src/server/mcp` has tests of that. */
const OWN_PROTOCOL = "/mcp";
/** Its answer has no end, and is alive all the time. */
const ENDLESS = "/v1/sessions/{sessionId}/watch";

interface Line {
  readonly msg: string;
  readonly route?: string;
  readonly status?: number;
}

let user: User;
let server: ServerProcess;

requires("bubblewrap", "schemathesis").describe(
  "a server that is asked anything",
  { timeout: 600_000 },
  () => {
    beforeAll(async () => {
      user = createUser();
      const env = { SKERRY_SERVER__LIMITS__REQUESTS_PER_MINUTE: "1000000" };
      server = await startServer({ ...user, environment: { ...user.environment, ...env } });
    });
    afterAll(async () => {
      server?.kill("SIGKILL");
      await server?.ended;
      user?.skerry(["exec", "--", "true"]);
    });

    it("answers as its own description says, breaks nowhere, and keeps no client waiting", async () => {
      const report = await fuzz();
      expect(report.output, report.output).toMatch(/No issues found/);
      expect(report.status).toBe(0);

      server.kill("SIGTERM");
      expect(await server.ended).toBe(0);
      const requests = lines().filter(({ msg }) => msg === "request");
      expect(requests.length).toBeGreaterThan(1000);
      // Ports are not opened here, which is no fault of the server's.
      const broken = requests.filter(
        ({ status, route }) => status! >= 500 && !(status === 501 && /\/(ports|tunnels)\//.test(route!)),
      );
      expect(broken).toEqual([]);
    });
  },
);

function lines(): Line[] {
  return server
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Line);
}

async function fuzz(): Promise<{ readonly status: number; readonly output: string }> {
  const checks = ["status_code_conformance", "content_type_conformance", "response_schema_conformance"];
  const child = spawn(
    "/usr/bin/python3",
    [
      ...["-m", "schemathesis.cli", "run", `${server.url}/openapi.json`],
      ...["--header", `Authorization: Bearer ${server.key}`],
      ...["--checks", checks.join(",")],
      ...["--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--seed", String(testSeed)],
      ...["--exclude-path", OWN_PROTOCOL, "--exclude-path", ENDLESS],
      ...["--request-timeout", String(ANSWERED_WITHIN_SECONDS)],
      ...["--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off", "--no-color"],
    ],
    {
      cwd: user.home,
      env: {
        ...user.environment,
        PYTHONPATH: `${LIBRARY}:${join(ROOT, "test", "setup")}`,
        PYTHONDONTWRITEBYTECODE: "1",
        SCHEMATHESIS_HOOKS: "schemathesis_hooks",
      },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return { status: status as number, output };
}
