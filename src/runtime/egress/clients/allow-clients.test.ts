import { describe, expect, it } from "vitest";
import { decideAddress, decideHost } from "../rules/decide.js";
import { parseHost } from "../rules/host.js";
import { type AllowedClients, allowClientsOf, clientOfHost } from "./allow-clients.js";

/** A machine with these files and variables. */
function machine(files: Readonly<Record<string, string>> = {}, env: Readonly<Record<string, string>> = {}) {
  return { env, home: "/home/me", nodePrefix: "/opt/node", read: (path: string) => files[path] };
}

function allowed(
  client: string,
  files?: Readonly<Record<string, string>>,
  env?: Readonly<Record<string, string>>,
): AllowedClients {
  return allowClientsOf([client], "--allow", machine(files, env));
}

/** "name:port" of what is open. */
const open = ({ rules }: AllowedClients) =>
  rules.requests.map(({ value: { host, ports } }) => `${host}:${ports}`).sort();

const PASSWORD = "hunter2-never-inside";

describe("where nothing is configured", () => {
  it.each([
    ["pip", ["files.pythonhosted.org:443", "pypi.org:443"]],
    ["npm", ["registry.npmjs.org:443"]],
    ["git", ["bitbucket.org:443", "codeload.github.com:443", "github.com:443", "gitlab.com:443"]],
    ["cargo", ["crates.io:443", "index.crates.io:443", "static.crates.io:443"]],
    ["go", ["proxy.golang.org:443", "sum.golang.org:443"]],
  ])("%s reaches its own hosts", (client, hosts) => {
    const found = allowed(client);
    expect(open(found)).toEqual(hosts);
    expect([found.rules.environment, found.rules.files, found.notices]).toEqual([{}, [], []]);
  });
});

describe("pip", () => {
  const INDEX = "https://mirror.example/simple/";

  it("takes the index of every place that pip takes it from, the later one winning", () => {
    const places: [Record<string, string>, Record<string, string>?][] = [
      [{ "/etc/pip.conf": `[global]\nindex-url = ${INDEX}\n` }],
      [{ "/home/me/.config/pip/pip.conf": `[install]\nindex_url: ${INDEX}\n` }],
      [{ "/home/me/.pip/pip.conf": `[global]\nindex-url=${INDEX}` }],
      [{ "/venv/pip.conf": `[global]\nindex-url=${INDEX}` }, { VIRTUAL_ENV: "/venv" }],
      [{ "/x.conf": `[global]\nindex-url=${INDEX}` }, { PIP_CONFIG_FILE: "/x.conf" }],
      [{ "/etc/pip.conf": "[global]\nindex-url = https://other.example/\n" }, { PIP_INDEX_URL: INDEX }],
    ];
    for (const [files, env] of places) {
      const found = allowed("pip", files, env);
      expect(open(found)).toEqual(["mirror.example:443"]);
      expect(found.rules.environment).toEqual({ PIP_INDEX_URL: INDEX, UV_DEFAULT_INDEX: INDEX });
    }
  });

  it("keeps its own index beside an extra one, over several lines", () => {
    const text =
      "[global]\nextra-index-url =\n    https://one.example/simple\n    http://two.example:8080/simple?x=1\ntrusted-host = two.example\n";
    const { rules } = allowed("pip", { "/etc/pip.conf": text });
    expect(rules.environment).toEqual({
      PIP_EXTRA_INDEX_URL: "https://one.example/simple http://two.example:8080/simple",
      UV_INDEX: "https://one.example/simple http://two.example:8080/simple",
      PIP_TRUSTED_HOST: "two.example",
    });
    expect(open({ rules, notices: [] })).toEqual([
      ...["files.pythonhosted.org:443", "one.example:443", "pypi.org:443", "two.example:8080"],
    ]);
  });

  it("reads nothing where its configuration is switched off", () => {
    const files = { "/etc/pip.conf": `[global]\nindex-url = ${INDEX}\n` };
    expect(open(allowed("pip", files, { PIP_CONFIG_FILE: "/dev/null" }))).toContain("pypi.org:443");
  });
});

describe("npm", () => {
  it("takes registry and scopes, and nothing else of the file", () => {
    const text = [
      "registry=https://npm.example/all/",
      `//npm.example/:_authToken=${PASSWORD}`,
      `@mine:registry = https://\${PLACE}/mine/`,
      "cache=/home/me/.cache",
    ].join("\n");
    const { rules } = allowed("npm", { "/home/me/.npmrc": text }, { PLACE: "scoped.example:8443" });
    expect(open({ rules, notices: [] })).toEqual(["npm.example:443", "scoped.example:8443"]);
    expect(rules.environment).toEqual({
      npm_config_registry: "https://npm.example/all/",
      npm_config_globalconfig: "/tmp/.skerry/npmrc",
    });
    const file = "registry=https://npm.example/all/\n@mine:registry=https://scoped.example:8443/mine/\n";
    expect(rules.files).toEqual([{ path: "/tmp/.skerry/npmrc", text: file }]);
  });

  it("asks nothing of a project's own file", () => {
    const files = {
      [`${process.cwd()}/.npmrc`]: "registry=https://evil.example/",
      ".npmrc": "registry=https://evil.example/",
    };
    expect(open(allowed("npm", files))).toEqual(["registry.npmjs.org:443"]);
  });

  it.each(["npm_config_registry", "NPM_CONFIG_REGISTRY"])("is told by %s", (name) => {
    expect(open(allowed("npm", {}, { [name]: "http://npm.example:4873" }))).toEqual(["npm.example:4873"]);
  });
});

describe("cargo", () => {
  it("follows the replacement of its source, and writes it where cargo looks", () => {
    const text = `
[source.crates-io]
replace-with = "first"
[source.first]
replace-with = "second"   # a chain
[source."second"]
registry = "sparse+https://user:${PASSWORD}@crates.example/index/"
[registries.ours]
index = "https://git.example/index.git"
[registries.ours.x]
token = "${PASSWORD}"
`;
    const { rules, notices } = allowed("cargo", { "/home/me/.cargo/config.toml": text });
    expect(open({ rules, notices })).toEqual(["crates.example:443", "git.example:443"]);
    expect(rules.environment).toEqual({ CARGO_HOME: "/tmp/.skerry/cargo" });
    expect(rules.files![0]!.text).toBe(`["source"."crates-io"]
replace-with = "mirror"
["source"."mirror"]
registry = "sparse+https://crates.example/index/"
["registries"."ours"]
index = "https://git.example/index.git"
`);
    expect(notices).toHaveLength(1);
  });

  it("ends where sources replace each other in a circle", () => {
    const text = `[source.crates-io]\nreplace-with = "a"\n[source.a]\nreplace-with = "crates-io"\n`;
    expect(open(allowed("cargo", { "/home/me/.cargo/config": text }))).toContain("static.crates.io:443");
  });
});

describe("go", () => {
  it("takes its proxies, the checksums where it asks for them, and patterns", () => {
    const text = `GOPROXY=https://u:${PASSWORD}@go.example/x,https://two.example|direct\nGOPRIVATE=corp.example\n`;
    const { rules } = allowed("go", { "/home/me/.config/go/env": text });
    expect(open({ rules, notices: [] })).toEqual(["go.example:443", "sum.golang.org:443", "two.example:443"]);
    expect(rules.environment).toEqual({
      GOPROXY: "https://go.example/x,https://two.example|direct",
      GOPRIVATE: "corp.example",
    });
  });

  it("leaves out what is a directory here, and checksums that are off", () => {
    const { rules } = allowed("go", {}, { GOPROXY: "file:///srv/go,https://go.example", GOSUMDB: "off" });
    expect(open({ rules, notices: [] })).toEqual(["go.example:443"]);
    expect(rules.environment).toEqual({ GOPROXY: "https://go.example", GOSUMDB: "off" });
  });
});

describe("git", () => {
  it("takes what a host is replaced with, and leaves that one closed", () => {
    const text = `[user]\n\tname = me\n[url "https://me:${PASSWORD}@git.example/hub/"]\n\tinsteadOf = https://github.com/\n[url "git@ssh.example:"]\n\tinsteadOf = https://gitlab.com/\n`;
    const { rules, notices } = allowed("git", { "/home/me/.gitconfig": text });
    expect(open({ rules, notices })).toEqual([
      ...["bitbucket.org:443", "codeload.github.com:443", "git.example:443", "gitlab.com:443"],
    ]);
    expect(rules.environment).toEqual({
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "url.https://git.example/hub/.insteadOf",
      GIT_CONFIG_VALUE_0: "https://github.com/",
    });
  });
});

describe("whatever is configured", () => {
  const SECRETS: [string, Record<string, string>, Record<string, string>?][] = [
    ["pip", {}, { PIP_INDEX_URL: `https://u:${PASSWORD}@m.example/simple?t=${PASSWORD}#${PASSWORD}` }],
    ["npm", { "/home/me/.npmrc": `registry=https://u:${PASSWORD}@m.example/\n_password=${PASSWORD}` }],
    ["go", {}, { GOPROXY: `https://${PASSWORD}@m.example`, GOSUMDB: `db https://u:${PASSWORD}@m.example` }],
    ["cargo", { "/home/me/.cargo/config.toml": `[registries.m]\nindex="https://${PASSWORD}@m.example"` }],
    ["git", { "/etc/gitconfig": `[url "https://${PASSWORD}@m.example/"]\ninsteadOf = https://github.com/` }],
  ];

  it.each(SECRETS)("no credentials of %s go inside, and a line says so", (client, files, env) => {
    const { rules, notices } = allowed(client, files, env);
    expect(open({ rules, notices })).toContain("m.example:443");
    expect(JSON.stringify([rules, notices])).not.toContain(PASSWORD);
    expect(notices[0]).toMatch(
      new RegExp(`^--allow ${client}: what m.example is shown as credentials stays outside`),
    );
  });

  const PRIVATE: [string, Record<string, string>, Record<string, string>?][] = [
    ["git", { "/etc/gitconfig": `[url "https://m/"]\ninsteadOf = https://bob:${PASSWORD}@github.com/` }],
    ["git", { "/etc/gitconfig": `[url "https://m/"]\ninsteadOf = HTTPS://${PASSWORD}@github.com/` }],
    ["go", {}, { GOSUMDB: `https://bob:${PASSWORD}@sums.example/` }],
    ["go", {}, { GOPRIVATE: `corp.example,bob:${PASSWORD}@two.example` }],
    ["go", {}, { GONOSUMDB: `https://bob:${PASSWORD}@two.example` }],
    ["npm", { "/home/me/.npmrc": `registry=https://m.example/\${NPM_TOKEN}/npm/` }, { NPM_TOKEN: PASSWORD }],
    ["npm", { "/etc/npmrc": `@a:registry=\${BASE}/\${T}/` }, { BASE: "https://m.example", T: PASSWORD }],
  ];

  it.each(PRIVATE)(
    "an entry of %s with a password in it stays outside, and a line says so",
    (client, files, env) => {
      const { rules, notices } = allowed(client, files, env);
      expect(JSON.stringify([rules, notices])).not.toContain(PASSWORD);
      expect(notices).toEqual([expect.stringContaining("an entry with credentials or a token in it")]);
    },
  );

  it("the checksums' address goes in without credentials, however its scheme is written", () => {
    const { rules } = allowed("go", {}, { GOSUMDB: `sum.golang.org HTTPS://bob:${PASSWORD}@sums.example/` });
    expect(rules.environment).toEqual({ GOSUMDB: "sum.golang.org https://sums.example/" });
  });

  it("the user of SSH is no credential, and a registry may be a variable as a whole", () => {
    const text = `[url "https://m.example/"] # corp\ninsteadOf = git@github.com:\ninsteadOf = ssh://git@github.com/`;
    expect(Object.values(allowed("git", { "/etc/gitconfig": text }).rules.environment ?? {})).toEqual(
      expect.arrayContaining(["git@github.com:", "ssh://git@github.com/"]),
    );
    const npm = allowed("npm", { "/etc/npmrc": `registry=\${R}` }, { R: "https://m.example/npm/" });
    expect(npm.rules.environment).toMatchObject({ npm_config_registry: "https://m.example/npm/" });
  });

  it("cargo's inline tables are read, and a line says where one is not understood", () => {
    const inline = `[source]\ncrates-io = { replace-with = "mirror" } # corp\nmirror = { registry = "https://m.example/i/" }`;
    const read = allowed("cargo", { "/home/me/.cargo/config.toml": inline });
    expect([open(read), read.notices]).toEqual([["m.example:443"], []]);
    for (const text of [
      `[source]\ncrates-io.replace-with = "mirror"`,
      `source.crates-io.replace-with = "mirror"`,
      `[source]\ncrates-io = {\n replace-with = "mirror"\n}`,
    ]) {
      const { notices } = allowed("cargo", { "/home/me/.cargo/config.toml": text });
      expect(notices).toEqual([expect.stringMatching(/^--allow cargo: ".*" was not understood/)]);
    }
  });

  const may = ({ rules }: AllowedClients, name: string, port: number, address: string) => {
    const host = parseHost(name)!;
    return decideHost(rules, host, port).allowed && decideAddress(rules, host, address, port).allowed;
  };

  it("a mirror may be on a private address, at its port, and nothing else there", () => {
    const found = allowed("pip", {}, { PIP_INDEX_URL: "https://m.example:8443/simple" });
    expect(may(found, "m.example", 8443, "10.1.2.3")).toBe(true);
    expect(may(found, "m.example", 8443, "8.8.8.8")).toBe(true);
    for (const [name, port, address] of [
      ["m.example", 443, "10.1.2.3"],
      ["m.example", 22, "10.1.2.3"],
      ["10.1.2.3", 8443, "10.1.2.3"],
      ["other.example", 8443, "10.1.2.3"],
      ["x.m.example", 8443, "10.1.2.3"],
      ["m.example", 8443, "127.0.0.1"],
      ["m.example", 8443, "169.254.169.254"],
      ["m.example", 8443, "fd00:ec2::254"],
      ["m.example", 8443, "fd00::5efe:a9fe:a9fe"],
      ["m.example", 8443, "64:ff9b::a9fe:a9fe"],
    ] as const) {
      expect([name, port, address, may(found, name, port, address)]).toEqual([name, port, address, false]);
    }
  });

  it("a default host may not be on a private address", () => {
    expect(may(allowed("pip"), "pypi.org", 443, "8.8.8.8")).toBe(true);
    expect(may(allowed("pip"), "pypi.org", 443, "10.1.2.3")).toBe(false);
  });

  it("a mirror on an address opens that one, and never a cloud's metadata", () => {
    expect(open(allowed("pip", {}, { PIP_INDEX_URL: "http://10.1.2.3:8081/simple" }))).toEqual([
      "10.1.2.3:8081",
    ]);
    const found = allowed("pip", {}, { PIP_INDEX_URL: "http://169.254.169.254/latest" });
    expect(open(found)).toEqual([]);
    expect(found.notices).toEqual([
      "--allow pip: its configuration names something that no sandbox can reach, which is left out",
    ]);
  });

  it.each(["localhost", "127.0.0.1", "[::1]"])("a mirror at %s is the host's own service inside", (name) => {
    const found = allowed("pip", {}, { PIP_INDEX_URL: `http://${name}:3141/root/simple` });
    expect(open(found)).toEqual(["host.skerry.internal:3141"]);
    expect(found.rules.environment).toMatchObject({
      PIP_INDEX_URL: "http://host.skerry.internal:3141/root/simple",
      PIP_TRUSTED_HOST: "host.skerry.internal",
    });
    expect(may(found, "host.skerry.internal", 3141, "127.0.0.1")).toBe(true);
    expect(may(found, "host.skerry.internal", 22, "127.0.0.1")).toBe(false);
  });

  it("is known by its host", () => {
    const own = machine({}, { PIP_INDEX_URL: "https://m.example/simple" });
    const of = (host: string) => clientOfHost(host, own);
    expect([of("m.example"), of("pypi.org"), of("github.com"), of("x.example")]).toEqual([
      "pip",
      undefined,
      "git",
      undefined,
    ]);
  });

  it("a client that there is not is told with the one that was meant", () => {
    expect(() => allowed("pyp")).toThrow(
      expect.objectContaining({
        code: "INVALID_ARGUMENT",
        hint: expect.stringContaining("Did you mean pip?"),
      }),
    );
    expect(() => allowed("constructor")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});
