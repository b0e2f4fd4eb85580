import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { requires } from "../setup/requires.js";
import { METADATA, PRIVATE, PUBLIC } from "./addresses.js";
import { perHostBackends, TestNetwork } from "./test-network.js";

/** In every address of a mirror that has room for one; nothing inside may have it. */
const PASSWORD = "the-password-of-the-mirror-5518";
const GO = "/usr/local/go/bin/go";
/** Its only address is a private one. */
const MIRROR = "mirror.skerry.test";

const network = new TestNetwork();
const backends = await perHostBackends();
const { describe, it, missing } = requires(
  ...(["linux", "root", "bubblewrap", "sandbox-runtime", "openssl", "iproute2", "python3"] as const),
);

/** The machine of somebody who has mirrors: the clients' own files, and variables. */
function configure(): Record<string, string> {
  const home = temporaryDirectory();
  mkdirSync(join(home, "go"));
  writeFileSync(join(home, "pip.conf"), `[global]\nindex-url = https://me:${PASSWORD}@${MIRROR}/simple\n`);
  writeFileSync(
    join(home, "npmrc"),
    `registry=https://npm.skerry.test/npm/\n//npm.skerry.test/npm/:_authToken=${PASSWORD}\n`,
  );
  writeFileSync(
    join(home, "gitconfig"),
    `[url "https://me:${PASSWORD}@git.skerry.test/"]\n\tinsteadOf = https://github.com/\n`,
  );
  return {
    PIP_CONFIG_FILE: join(home, "pip.conf"),
    NPM_CONFIG_USERCONFIG: join(home, "npmrc"),
    GIT_CONFIG_GLOBAL: join(home, "gitconfig"),
    GOPROXY: `https://me:${PASSWORD}@go.skerry.test/proxy`,
    GOSUMDB: "off",
  };
}

beforeAll(async () => {
  if (missing.length === 0) await network.start(configure());
}, 120_000);
afterAll(() => network.end());

const TRUST = [
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "GIT_SSL_CAINFO",
  "PIP_CERT",
  "npm_config_cafile",
];
const trust = Object.fromEntries(TRUST.map((name) => [name, "/workspace/trust.crt"]));

describe.each(backends)("clients that are configured with mirrors, inside %s", (backend) => {
  const name = `${backend}-mirrors`;
  const run = async (script: string) => {
    const ran = await network.inside.exec(name, "s", ["sh", "-c", `(${script}) 2>&1`], trust, 90_000);
    const { visits, records } = await network.inside.look(name);
    return { ...ran, to: [...new Set(visits.map(({ to }) => to))], records };
  };

  beforeAll(async () => {
    if (missing.length > 0) return;
    await network.inside.open(name, { backend, network: { allow: ["pip", "npm", "git", "go"] } });
    await network.inside.putFile(name, "s", "trust.crt", network.ca);
  }, 60_000);

  requires("pip").it(
    "pip installs from a mirror on a private address, without being told of it",
    async () => {
      const say = "PYTHONPATH=lib python3 -c 'import skerry_hello; print(skerry_hello.WORDS)'";
      const { stdout, to, records } = await run(
        `python3 -m pip install -q --no-cache-dir --no-deps --target lib skerry-hello && ${say}`,
      );
      expect(stdout).toContain("hello from a wheel");
      expect(to).toEqual([`${PRIVATE}:443`]);
      expect(new Set(records.map(({ policy_rule: rule }) => rule))).toEqual(
        new Set(["sandbox.network.allow pip"]),
      );
    },
    120_000,
  );

  requires("npm").it(
    "npm does",
    async () => {
      const install = "npm install --silent --no-audit --no-fund --no-update-notifier skerry-hello";
      const { stdout, to } = await run(
        `mkdir n; cd n; echo {} > package.json; ${install} && node -e 'console.log(require("skerry-hello"))'`,
      );
      expect(stdout).toContain("hello from");
      expect(to).toEqual([`${PUBLIC}:443`]);
    },
    120_000,
  );

  requires("git").it("git clones what its configuration leads to the mirror", async () => {
    const { stdout, to } = await run(
      "rm -rf public; git clone -q https://github.com/hello.git public && cat public/hello.txt",
    );
    expect(stdout).toContain("hello from");
    expect(to).toEqual([`${PUBLIC}:443`]);
  });

  (existsSync(GO) ? it : it.skip)(
    "go asks its proxy",
    async () => {
      const { stdout, to, denied } = await run(
        `cd /tmp; GOFLAGS=-mod=mod GOTOOLCHAIN=local GOCACHE=/tmp/c ${GO} list -m skerry.test/hello@v1.0.0`,
      );
      expect({ to, denied, stdout }).toEqual({
        to: [`${PUBLIC}:443`],
        denied: [],
        stdout: expect.stringContaining("https://go.skerry.test/proxy/skerry.test/hello"),
      });
    },
    90_000,
  );

  it("no credentials of theirs are inside", async () => {
    const look =
      "env; cat /proc/*/environ /tmp/.skerry/npmrc | tr '\\0' '\\n'; grep -r the-password-of-the-mirror /tmp /etc /workspace --exclude-dir=proc";
    const { stdout } = await run(look);
    expect(stdout).toContain(`PIP_INDEX_URL=https://${MIRROR}/simple`);
    expect(stdout).toContain("registry=https://npm.skerry.test/npm/");
    expect(stdout).not.toContain(PASSWORD);
  });

  it.each([
    ["another host at the mirror's address", `https://other-${MIRROR}/`, /not allowed by rule/],
    ["the mirror's address itself", `https://${PRIVATE}/simple/`, /not allowed by rule/],
    ["another port of the mirror", `http://${MIRROR}/`, /port 80 of .* is not allowed by rule/],
    ["a host that nothing names", "https://pypi.skerry.test/simple/", /not allowed by rule/],
    ["a cloud's metadata", `http://${METADATA}/`, /not allowed by rule/],
  ])("%s stays shut", async (_, url, why) => {
    const { to, denied } = await run(`curl -sS -m 10 --insecure ${url}`);
    expect({ to, denied }).toEqual({ to: [], denied: [expect.stringMatching(why)] });
  });
});

describe.each(backends)("every public host, inside %s", (backend) => {
  const name = `${backend}-internet`;
  beforeAll(async () => {
    if (missing.length > 0) return;
    await network.inside.open(name, { backend, network: { internet: true } });
    await network.inside.putFile(name, "s", "trust.crt", network.ca);
  }, 60_000);
  const curl = async (url: string) => {
    const ran = await network.inside.exec(name, "s", ["curl", "-sS", "-m", "10", url], {
      CURL_CA_BUNDLE: "/workspace/trust.crt",
    });
    return { ...ran, ...(await network.inside.look(name)) };
  };

  it("is reached, with a warning in the record", async () => {
    const { stdout, records } = await curl("https://whatever.skerry.test/hello");
    expect(stdout).toContain("hello from");
    // A connection is recorded when it is over, which may be after the client.
    const recorded = [...records];
    await waitUntil(async () => {
      recorded.push(...(await network.inside.look(name)).records);
      return recorded.length > 0;
    });
    expect(recorded).toEqual([
      expect.objectContaining({
        policy_rule: "sandbox.network.internet",
        details: expect.objectContaining({ warning: "every public host is open" }),
      }),
    ]);
  });

  it.each([
    "http://private.dns.skerry.test/",
    "http://loopback.dns.skerry.test/",
    "http://metadata.dns.skerry.test/",
    "http://mapped-metadata.dns.skerry.test/",
    "http://translated.dns.skerry.test/",
    "http://all-bad.dns.skerry.test/",
    `http://${METADATA}/`,
    `http://${PRIVATE}/`,
    "http://host.skerry.internal/",
  ])("leaves %s shut", async (url) => {
    const { visits, denied } = await curl(url);
    expect({ visits, denied }).toEqual({
      visits: [],
      denied: [expect.stringContaining("not allowed by rule")],
    });
  });
});
