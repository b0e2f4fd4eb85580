import { afterAll, beforeAll, expect } from "vitest";
import { requires } from "../setup/requires.js";
import { METADATA, PUBLIC } from "./addresses.js";
import { ADDRESS_ATTACKS, NAME_ATTACKS, PROTOCOL_ATTACKS, RESOLUTION_ATTACKS } from "./attack-cases.js";
import { talk } from "./proxy-talk.js";
import { perHostBackends, TestNetwork } from "./test-network.js";

/** With every setting of theirs as it is: what they do about a refusal is what is looked at. */
const CLIENTS = [
  ["curl", "curl", "curl -sS https://HOST/hello"],
  ["curl", "curl over plain HTTP", "curl -sS http://HOST/hello"],
  ["wget", "wget", "wget -nv -O - https://HOST/hello"],
  ["pip", "pip", "python3 -m pip install --index-url https://HOST/simple skerry-hello"],
  ["npm", "npm", "npm install --registry https://HOST/npm/ skerry-hello"],
  ["git", "git", "git clone https://HOST/hello.git"],
] as const;
/** What shows the reason of a tunnel that is refused, or the body of an answer. */
const SHOWING = ["curl over plain HTTP", "wget", "pip"];
const ATTACKS = [...ADDRESS_ATTACKS, ...NAME_ATTACKS, ...RESOLUTION_ATTACKS, ...PROTOCOL_ATTACKS];

/** More at once than egress takes, before it is loaded: every one of them is refused. */
const FLOOD = `
import socket
open = []
for _ in range(400):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", 3128))
    open.append(s)
answers = set()
for s in open:
    s.settimeout(10)
    try:
        s.sendall(b"GET http://${PUBLIC}/flood HTTP/1.1\\r\\nHost: ${PUBLIC}\\r\\n\\r\\n")
        answers.add(s.recv(12))
    except OSError as error: answers.add(b"closed")
print(sorted(answers))
`;

const network = new TestNetwork();
const backends = await perHostBackends();
const { describe, it, missing } = requires(
  ...(["linux", "root", "bubblewrap", "sandbox-runtime", "openssl", "iproute2", "python3"] as const),
);

beforeAll(async () => {
  if (missing.length === 0) await network.start();
});
afterAll(() => network.end());

describe.each(backends)("where nothing is allowed, inside %s", (backend) => {
  beforeAll(async () => {
    if (missing.length === 0) await network.inside.open(backend, { backend, network: {} });
  });

  for (const [needs, name, command] of CLIENTS) {
    requires(needs).it(
      `${name} hears at once that there is no network, and does not keep asking`,
      async () => {
        const host = `${name.replaceAll(" ", "-").toLowerCase()}.${backend}.skerry.test`;
        const script = `mkdir -p ${host} && cd ${host} && ${command.replace("HOST", host)} 2>&1`;
        const ran = await network.inside.exec(backend, "s", ["sh", "-c", script], {}, 60_000);
        const { visits, questions, records } = await network.inside.look(backend);
        const line = `this sandbox has no network: ${host} was refused; allow it with egress: allowDomains("${host}"), or in sandbox.network.allowedDomains`;
        expect({ denied: ran.denied, visits, questions }).toEqual({
          denied: [line],
          visits: [],
          questions: [],
        });
        if (name !== "curl over plain HTTP") expect(ran.exitCode).toBeGreaterThan(0);
        if (SHOWING.includes(name)) expect(ran.stdout.replaceAll("\n", " ")).toContain(line);
        // What repeats may be told a second later, when the next client has asked already.
        const own = records.filter(({ details }) => (details as { host: string }).host === host);
        expect(new Set(own.map(({ result, error }) => `${result}: ${error}`))).toEqual(
          new Set([`denied: ${line}`]),
        );
        if (name === "pip") expect(ran.stdout.match(/Retrying/g)).toHaveLength(1);
        // Two questions at once are two records on a busy machine.
        else expect([1, 2]).toContain(own.length);
      },
      90_000,
    );
  }

  it("gets nowhere, whatever it says to the proxy", async () => {
    for (const attack of ATTACKS) {
      const ran = await network.inside.python(backend, "s", talk(attack));
      const { visits, questions } = await network.inside.look(backend);
      const { title } = attack;
      expect({ title, stderr: ran.stderr, visits, questions }).toEqual({
        title,
        stderr: "",
        visits: [],
        questions: [],
      });
      expect(ran.stdout).not.toMatch(/HTTP\/1\.[01] 200|SOCKS reply 0/);
    }
  }, 240_000);

  it("a flood of connections is refused, and the next one is answered", async () => {
    const ran = await network.inside.python(backend, "flood", FLOOD);
    expect(ran).toMatchObject({ stderr: "", stdout: expect.stringMatching(/^\[b'HTTP\/1\.1 403'|closed/) });
    const after = await network.inside.exec(backend, "flood", ["curl", "-s", `http://${METADATA}/`]);
    expect(after.stdout).toMatch(/^this sandbox has no network: 169\.254\.169\.254 was refused; /);
    const { visits, questions } = await network.inside.look(backend);
    expect({ visits, questions }).toEqual({ visits: [], questions: [] });
  });
});
