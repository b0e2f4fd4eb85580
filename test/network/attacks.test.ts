import { afterAll, beforeAll, expect } from "vitest";
import type { AuditRecord } from "../../src/audit.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { DOCKER_START_MS } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { METADATA, PUBLIC } from "./addresses.js";
import {
  ADDRESS_ATTACKS,
  ALLOWED,
  type Attack,
  DIRECT_ATTACKS,
  NAME_ATTACKS,
  PROTOCOL_ATTACKS,
  REQUEST_ATTACKS,
  RESOLUTION_ATTACKS,
} from "./attack-cases.js";
import type { NetworkTraffic } from "./network-namespace.js";
import { BARE_PORT } from "./origin-servers.js";
import { talk } from "./proxy-talk.js";
import { perHostBackends, TestNetwork } from "./test-network.js";

const ATTACKS = [
  ...ADDRESS_ATTACKS,
  ...NAME_ATTACKS,
  ...RESOLUTION_ATTACKS,
  ...PROTOCOL_ATTACKS,
  ...REQUEST_ATTACKS,
];

/** Rules under which every attack that names a target gets there. */
const WIDE = {
  allowedDomains: ["*.skerry.test", "*.evil.test"],
  // No entry takes the name localhost.
  internet: true,
  allowedIps: [
    "127.0.0.0/8",
    "0.0.0.0/32",
    "::1/128",
    `${METADATA}/32`,
    "10.0.0.0/8",
    "5.5.5.0/24",
    "2a00:5555::/32",
  ],
  allowedPorts: [80, 443, BARE_PORT],
};

const network = new TestNetwork();
const hasDocker = requires("docker", "debootstrap").missing.length === 0;
const backends = [...(await perHostBackends()), ...(hasDocker ? ["docker"] : [])];
const { describe, it, missing } = requires(
  "linux",
  "root",
  "bubblewrap",
  "sandbox-runtime",
  "openssl",
  "iproute2",
  "python3",
);

beforeAll(async () => {
  if (missing.length === 0) await (hasDocker ? network.startWithDocker() : network.start());
}, DOCKER_START_MS);
afterAll(() => network.end());

const titled = (attacks: readonly Attack[]) => attacks.map((attack) => [attack.title, attack] as const);

describe("without rules in the way", () => {
  beforeAll(async () => {
    if (missing.length === 0) await network.inside.open("wide", { backend: backends[0]!, network: WIDE });
  });

  for (const attack of ATTACKS.filter(({ target }) => target !== undefined)) {
    it(`an attacker ${attack.title}`, async () => {
      const ran = await network.inside.python("wide", "s", talk(attack));
      const { visits } = await network.inside.look("wide");
      const reached = visits.filter(({ to }) => to === attack.target).length;
      expect({ reached, stderr: ran.stderr }).toEqual({ reached: attack.sends.length, stderr: "" });
    });
  }

  for (const { title, code } of DIRECT_ATTACKS) {
    it(`who is in no sandbox ${title}`, async () => {
      expect(await network.inside.pythonOutside(`import socket${code}`)).toMatch(/^(?:reached .*\n)+$/);
    });
  }
});

describe.each(backends)("inside %s, an attacker never", (backend) => {
  const records: AuditRecord[] = [];
  beforeAll(async () => {
    if (missing.length > 0) return;
    await network.inside.open(backend, { backend, network: { allowedDomains: ALLOWED } });
    await look();
  });

  async function look(): Promise<NetworkTraffic> {
    const sight = await network.inside.look(backend);
    records.push(...sight.records);
    return sight;
  }

  it.each(titled(ADDRESS_ATTACKS))("gets out by an address: %s", attempt);
  it.each(titled(NAME_ATTACKS))("gets out by a name: %s", attempt);
  it.each(titled(RESOLUTION_ATTACKS))("gets out by what a name resolves to: %s", attempt);
  it.each(titled(PROTOCOL_ATTACKS))("gets out by a protocol: %s", attempt);
  it.each(titled(REQUEST_ATTACKS))("gets out by a request: %s", attempt);

  async function attempt(
    _title: string,
    { sends, answers: count, answer, told, dials, arrives = [] }: Attack,
  ): Promise<void> {
    const talking = talk({ sends, ...(count !== undefined && { answers: count }) });
    const { stdout, stderr, denied } = await network.inside.python(backend, backend, talking);
    const { visits } = await look();
    expect(stderr).toBe("");
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string);
    expect(answers).toHaveLength(sends.length);
    for (const each of answers) expect(each).toMatch(answer);
    if (told !== undefined) expect(denied.join("\n")).toContain(told);
    const isHarmless = (to: string, bytes: number) =>
      arrives.length > 0 ? to === `${PUBLIC}:80` : to === dials && bytes === 0;
    expect(visits.filter(({ to, bytes }) => !isHarmless(to, bytes))).toEqual([]);
    const requests = visits.flatMap((visit) => visit.requests);
    expect(requests.filter((request) => !arrives.includes(request))).toEqual([]);
    if (answers.some((each) => each.startsWith("HTTP/1.1 2"))) expect(requests).toEqual(arrives);
  }

  it("is refused without a record in the audit log", async () => {
    const told = ATTACKS.flatMap((attack) => attack.told ?? []);
    const denied = () => records.filter(({ result }) => result === "denied");
    const untold = () => told.filter((line) => !denied().some(({ error }) => error?.includes(line)));
    // What was refused many times in a second is told at its end.
    await waitUntil(async () => {
      await look();
      return untold().length === 0;
    }).catch(() => undefined);
    expect(untold()).toEqual([]);
    const rules = new Set(denied().map(({ policy_rule: rule }) => rule));
    const known = ["allowedDomains", "allowedIps", "allowedPorts"].map((name) => `sandbox.network.${name}`);
    expect([...rules].sort()).toEqual(["built in", ...known]);
  });

  it("changes what a name resolves to between the check and the connection", async () => {
    for (const name of ["turns", "turns-back"]) {
      const host = `${name}.dns.skerry.test`;
      const one = [`GET http://${host}/hello HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`];
      const { stdout } = await network.inside.python(backend, backend, talk({ sends: Array(8).fill(one) }));
      const answers = stdout
        .trim()
        .split("\n")
        .map((line) => /HTTP\/1.1 (\d+)/.exec(line)?.[1]);
      const { visits, questions } = await look();
      const isGoodFirst = name === "turns";
      expect(answers).toEqual([isGoodFirst ? "200" : "403", ...Array(7).fill(isGoodFirst ? "403" : "200")]);
      expect(new Set(visits.map(({ to }) => to))).toEqual(new Set([`${PUBLIC}:80`]));
      // Resolved once for each, and never elsewhere.
      expect(questions.filter((question) => question === `A ${host}`)).toHaveLength(8);
    }
  });

  it("has a name resolved that it may not reach", async () => {
    await network.inside.python(
      backend,
      backend,
      talk({ sends: [[`GET http://data.evil.test/ HTTP/1.1\r\nHost: data.evil.test\r\n\r\n`]] }),
    );
    const { questions } = await look();
    expect(questions).toEqual([]);
  });

  it("is led to the metadata address by a redirect", async () => {
    const follow = `
import urllib.request, urllib.error
try: print(urllib.request.urlopen("http://api.skerry.test/redirect", timeout=5).read())
except urllib.error.HTTPError as error: print(error.code, error.read().decode())`;
    const { stdout, denied } = await network.inside.python(backend, backend, follow);
    const { visits } = await look();
    const line = `${METADATA} is not allowed by rule sandbox.network.allowedIps`;
    expect(stdout).toBe(`403 ${line}\n\n`);
    expect(denied).toEqual([line]);
    expect(visits.map(({ to, requests }) => ({ to, requests }))).toEqual([
      { to: `${PUBLIC}:80`, requests: ["GET http://api.skerry.test/redirect"] },
    ]);
  });

  for (const { title, code } of DIRECT_ATTACKS) {
    it(title, async () => {
      const environment =
        "import os\nfor name in list(os.environ):\n    if 'proxy' in name.lower(): del os.environ[name]\n";
      const { stdout, stderr } = await network.inside.python(
        backend,
        backend,
        `${environment}import socket${code}`,
      );
      const { visits, questions } = await look();
      expect({ stdout, stderr, visits, questions }).toEqual({
        stdout: "",
        stderr: "",
        visits: [],
        questions: [],
      });
    });
  }
});
