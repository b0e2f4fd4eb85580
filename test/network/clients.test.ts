import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { DOCKER_START_MS } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { PUBLIC } from "./addresses.js";
import { CLIENTS, type Client, GO } from "./clients.js";
import { perHostBackends, TestNetwork } from "./test-network.js";

const SECRET = `the-value-that-must-not-leak-${Math.random().toString(36).slice(2)}`;
const ALLOWED = ["api.skerry.test", "pypi.skerry.test", "npm.skerry.test", "git.skerry.test"];
/** For the hosts' own certificates. A sandbox with secrets has a file of its own. */
const TRUST = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "GIT_SSL_CAINFO",
];
const trust = Object.fromEntries(
  [...TRUST, "PIP_CERT", "npm_config_cafile"].map((name) => [name, "/workspace/trust.crt"]),
);

/** Looks for the value where a program can; it comes in halves, so as not to find itself. */
const SEARCH = `
import os, glob
needle = "".join(HALVES).encode()
paths = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
for top in ("/workspace", "/tmp", "/dev/shm", "/etc"):
    for folder, _, names in os.walk(top): paths += [os.path.join(folder, name) for name in names]
looked = 0
for path in paths:
    try:
        with open(path, "rb") as file: text = file.read()
    except OSError: continue
    looked += 1
    if needle in text: print("found in", path)
print("looked at", looked, "files")
`;

const testNetwork = new TestNetwork();
const hasDocker = requires("docker", "gvisor", "debootstrap").missing.length === 0;
const backends = [...(await perHostBackends()), ...(hasDocker ? ["docker", "gvisor"] : [])];
const hasGo = spawnSync("go", ["version"]).status === 0;
let goProgram: Buffer | undefined;

beforeAll(async () => {
  if (missing.length > 0) return;
  await (hasDocker ? testNetwork.startWithDocker() : testNetwork.start());
  if (hasGo) goProgram = buildGo();
  await testNetwork.inside.expectSecret(SECRET);
}, DOCKER_START_MS);
afterAll(() => testNetwork.end());

function buildGo(): Buffer {
  const source = join(testNetwork.directory, "get.go");
  writeFileSync(source, GO);
  const cache = { GOFLAGS: "", CGO_ENABLED: "0", GO111MODULE: "off" };
  const program = join(testNetwork.directory, "get");
  execFileSync("go", ["build", "-o", program, source], { env: { ...process.env, ...cache } });
  return readFileSync(program);
}

const { describe, it, missing } = requires(
  "linux",
  "root",
  "bubblewrap",
  "sandbox-runtime",
  "openssl",
  "iproute2",
);

describe.each(backends)("inside %s", (backend) => {
  const session = backend;
  const [plain, secret] = [`${backend}-plain`, `${backend}-secret`];
  beforeAll(async () => {
    if (missing.length > 0) return;
    const network = { allowedDomains: ALLOWED };
    await testNetwork.inside.open(plain, { backend, network });
    await testNetwork.inside.putFile(plain, session, "trust.crt", testNetwork.ca);
    const secrets = [{ name: "TOKEN", value: SECRET, hosts: ALLOWED }];
    await testNetwork.inside.open(secret, { backend, network, secrets });
    for (const name of [plain, secret]) for (const client of CLIENTS) await equip(name, session, client);
  });

  for (const client of CLIENTS) {
    const { name, needs, optional, scheme = "https", at = "api.skerry.test", shows = false } = client;
    const test = requires(...needs);
    const runs = optional === undefined || hasGo ? test.it : it.skip;

    // Of its own: what is refused twice in a second is told once.
    const evil = `${folderOf(client)}.${backend}.evil.test`;
    const refusal = `${evil} is not allowed by rule sandbox.network.allowedDomains`;

    runs(
      `${name} reaches the host that it may, and hears about the one that it may not`,
      async () => {
        const ask = (host: string) => `BASE=${scheme}://${host}; HOST=${host}; ${client.fetch}`;
        const ran = await shell(
          plain,
          client,
          `(${ask(at)}) 2>&1; echo "exit $?"; echo ---; (${ask(evil)}) 2>&1`,
          trust,
        );
        const { visits, questions, records } = await testNetwork.inside.look(plain);
        const [reached = "", refused = ""] = ran.stdout.split("---\n");
        expect(reached).toMatch(/hello from [\s\S]*exit 0\n$/);
        expect(ran.denied).toEqual([refusal]);
        expect(refused).not.toContain("hello from");
        if (shows) expect(refused).toContain(refusal);
        expect(new Set(visits.map(({ to }) => to))).toEqual(
          new Set([`${PUBLIC}:${scheme === "http" ? 80 : 443}`]),
        );
        expect(questions.filter((question) => question.includes(evil))).toEqual([]);
        const denied = records.find(({ result }) => result === "denied");
        expect(denied).toMatchObject({ policy_rule: "sandbox.network.allowedDomains", error: refusal });
      },
      60_000,
    );

    if (client.fetchPrivate === undefined) continue;
    runs(
      `${name} shows a secret to its host, and has a placeholder itself`,
      async () => {
        const command = `BASE=https://${at}; HOST=${at}; echo "$TOKEN"; ${client.fetchPrivate}`;
        const ran = await shell(secret, client, `(${command}) 2>&1`);
        const { authorizations, records } = await testNetwork.inside.look(secret);
        expect(ran.stdout).toMatch(/^skerry_secret_TOKEN_\S+\n[\s\S]*hello from /);
        expect(ran.denied).toEqual([]);
        expect(authorizations.map(readAuthorization)).toContain(SECRET);
        expect(authorizations.join()).not.toContain("skerry_secret_");
        for (const text of [ran.stdout, ran.stderr, JSON.stringify(records)])
          expect(text).not.toContain(SECRET);
        expect(records.some(({ details }) => (details as { secrets?: string }).secrets === "TOKEN")).toBe(
          true,
        );
      },
      60_000,
    );
  }

  it("the value is nowhere inside or outside after all that, nor while it is used", async () => {
    const using = testNetwork.inside.exec(secret, session, [
      ...[
        "sh",
        "-c",
        'curl -sS -m 3 -H "Authorization: Bearer $TOKEN" https://api.skerry.test/private/silent',
      ],
    ]);
    await waitUntil(
      async () => (await testNetwork.inside.look(secret)).authorizations.includes(`Bearer ${SECRET}`),
      10_000,
    );
    const [processes, found] = await Promise.all([
      holdersOutside(),
      testNetwork.inside.python(
        secret,
        session,
        SEARCH.replace("HALVES", JSON.stringify([SECRET.slice(0, 9), SECRET.slice(9)])),
      ),
    ]);
    await using;
    expect(processes).toEqual([]);
    expect(found).toMatchObject({
      stdout: expect.stringMatching(/^looked at [1-9]\d+ files\n$/),
      stderr: "",
    });
    // State, workspaces, audit logs, certificates.
    const grep = spawnSync("grep", ["-rlaF", "-f", "-", "--exclude=*.img", testNetwork.directory], {
      input: SECRET,
      encoding: "utf8",
    });
    expect(grep).toMatchObject({ stdout: "", status: 1 });
    expect(testNetwork.complaints).toBe("");
  });

  function shell(name: string, client: Client, script: string, env: Record<string, string> = {}) {
    return testNetwork.inside.exec(
      name,
      session,
      ["sh", "-c", `cd /workspace/${folderOf(client)} && ${script}`],
      env,
    );
  }
});

/** The host's processes that have the value in their command line or environment. */
function holdersOutside(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => ["cmdline", "environ"].map((file) => `/proc/${pid}/${file}`))
    .filter((path) => {
      try {
        return readFileSync(path).includes(SECRET);
      } catch {
        return false; // gone by now
      }
    });
}

async function equip(name: string, session: string, client: Client): Promise<void> {
  const folder = folderOf(client);
  await testNetwork.inside.putFile(name, session, `${folder}/.here`, "");
  for (const [path, contents] of Object.entries(client.files ?? {}))
    await testNetwork.inside.putFile(name, session, `${folder}/${path}`, contents);
  if (client.optional !== "go" || goProgram === undefined) return;
  await testNetwork.inside.putFile(name, session, `${folder}/get`, goProgram);
  await testNetwork.inside.exec(name, session, ["chmod", "+x", `/workspace/${folder}/get`]);
}

function folderOf({ name }: Client): string {
  return name.toLowerCase().replace(/[^a-z]+/g, "-");
}

function readAuthorization(header: string): string {
  const [kind, given = ""] = header.split(" ");
  return kind === "Basic"
    ? Buffer.from(given, "base64")
        .toString()
        .replace(/^user:/, "")
    : given;
}
