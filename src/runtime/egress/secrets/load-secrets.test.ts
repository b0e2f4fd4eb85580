import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import type { EgressRules } from "../rules/rules.js";
import { checkSecretHosts, loadSecrets, parseSecretOption } from "./load-secrets.js";
import { Secret } from "./secret.js";

const ALLOW = (host: string) => `Allow it: ${host}`;
const VALUE = "ghp_0123456789abcdef";
const ENV = { GITHUB_TOKEN: VALUE, EMPTY: "", SHORT: "abc" };
const HEADER = ["header"] as const;

let directory: string;
beforeAll(() => {
  directory = temporaryDirectory();
  writeFileSync(join(directory, "token@home"), `${VALUE}\n`);
  writeFileSync(join(directory, "lines"), `${VALUE}\n\n`);
  writeFileSync(join(directory, "large"), "x".repeat(100_000));
});

function thrown(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

function rules(parts: Partial<EgressRules>): EgressRules {
  const none = { allowedDomains: [], deniedDomains: [], allowedIps: [], deniedIps: [], deniedPorts: [] };
  return { ...none, requests: [], origin: "sandbox.network.allowedDomains", ...parts };
}

describe("secrets of the configuration", () => {
  it("come from a variable or a file", () => {
    const secrets = loadSecrets(
      {
        GITHUB_TOKEN: { hosts: ["api.github.com"], in: HEADER },
        OTHER: { hosts: ["*.example.com"], env: "GITHUB_TOKEN", in: ["query"] },
        FILED: { hosts: ["a.example"], file: join(directory, "token@home"), in: HEADER },
      },
      ENV,
    );
    expect(secrets.map((secret) => [secret.name, secret.reveal(), secret.hosts, secret.in])).toEqual([
      ["GITHUB_TOKEN", VALUE, ["api.github.com"], ["header"]],
      ["OTHER", VALUE, ["*.example.com"], ["query"]],
      ["FILED", VALUE, ["a.example"], ["header"]],
    ]);
  });

  it.each<[string, { env?: string; file?: () => string }, string]>([
    ["an unset variable", { env: "NONE" }, "sandbox.secrets.X: the variable NONE is not set"],
    ["an empty variable", { env: "EMPTY" }, "sandbox.secrets.X: the variable EMPTY is not set"],
    ["a short value", { env: "SHORT" }, "sandbox.secrets.X has fewer than 8 characters"],
    [
      "a missing file",
      { file: () => join(directory, "none") },
      "sandbox.secrets.X: the file cannot be read (ENOENT)",
    ],
    [
      "a directory",
      { file: () => directory },
      "sandbox.secrets.X: what the file's path leads to is no small file",
    ],
    [
      "a device",
      { file: () => "/dev/zero" },
      "sandbox.secrets.X: what the file's path leads to is no small file",
    ],
    [
      "a large file",
      { file: () => join(directory, "large") },
      "sandbox.secrets.X: what the file's path leads to is no small file",
    ],
    [
      "several lines",
      { file: () => join(directory, "lines") },
      "sandbox.secrets.X holds a line break or another control character",
    ],
    ["a relative file", { file: () => "token" }, "sandbox.secrets.X: the file must be an absolute path"],
    ["both", { env: "GITHUB_TOKEN", file: () => "/x" }, "sandbox.secrets.X has both env and file"],
  ])("are refused with %s", (_, { env, file }, message) => {
    const source = { hosts: ["a.example"], in: HEADER, ...(env && { env }), ...(file && { file: file() }) };
    const error = thrown(() => loadSecrets({ X: source }, ENV));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message });
    expect(inspect(error)).not.toContain(VALUE);
  });
});

describe("--secret", () => {
  it.each<[string, () => string, string, string[]]>([
    [
      "a variable",
      () => "GITHUB_TOKEN@api.github.com,*.uploads.github.com",
      "GITHUB_TOKEN",
      ["api.github.com", "*.uploads.github.com"],
    ],
    ["another variable", () => "TOKEN=env:GITHUB_TOKEN@a.example", "TOKEN", ["a.example"]],
    ["a file", () => `TOKEN=file:${join(directory, "token@home")}@a.example`, "TOKEN", ["a.example"]],
  ])("takes %s", (_, text, name, hosts) => {
    const secret = parseSecretOption(text(), ENV, ALLOW);
    expect([secret.name, secret.reveal(), secret.hosts, secret.in]).toEqual([name, VALUE, hosts, ["header"]]);
  });

  it.each([
    ["no host", `${VALUE}x-y`, "A secret names no host, or no variable"],
    ["no name", "@a.example", "A secret names no host, or no variable"],
    ["an empty host", "GITHUB_TOKEN@", 'The secret GITHUB_TOKEN is for "", which is not the name of a host'],
    [
      "an empty host behind a comma",
      "GITHUB_TOKEN@a.example,",
      'The secret GITHUB_TOKEN is for "", which is not the name of a host',
    ],
    [
      "the value itself",
      `TOKEN=${VALUE}@a.example`,
      "A secret takes no value: other users see command lines",
    ],
    [
      "a value with a colon",
      `TOKEN=x:${VALUE}@a.example`,
      "A secret takes no value: other users see command lines",
    ],
    [
      "a file without a path",
      "TOKEN=file:@a.example",
      "A secret takes no value: other users see command lines",
    ],
    ["an unset variable", "NONE@a.example", "The secret NONE: the variable NONE is not set"],
    ["what is no variable", `a b${VALUE}@a.example`, "The secret …: the variable … is not set"],
    [
      "a wide host",
      "GITHUB_TOKEN@*.com",
      'The secret GITHUB_TOKEN is for "*.com", which is not the name of a host',
    ],
  ])("is refused with %s, and repeats no value", (_, text, message) => {
    const error = thrown(() => parseSecretOption(text, ENV, ALLOW));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message });
    expect(inspect(error)).not.toContain(VALUE);
  });
});

describe("a secret's hosts", () => {
  const secretFor = (...hosts: string[]) => [new Secret({ name: "TOKEN", value: VALUE, hosts })];
  const allowing = (...names: string[]) =>
    rules({ allowedDomains: names.map((value, index) => ({ value, rule: `allowedDomains[${index}]` })) });

  it.each([
    ["the same name", ["api.github.com"], ["api.github.com"]],
    ["a wider rule", ["api.github.com", "*.x.github.com"], ["*.github.com"]],
    ["a narrower rule", ["*.github.com"], ["api.github.com"]],
  ])("are reached by %s", (_, hosts, names) => {
    expect(() => checkSecretHosts(secretFor(...hosts), allowing(...names))).not.toThrow();
  });

  it("are reached by a rule for some requests", () => {
    const requests = [{ value: { host: "api.github.com", methods: ["GET"] }, rule: "requests[0]" }];
    expect(() => checkSecretHosts(secretFor("api.github.com"), rules({ requests }))).not.toThrow();
  });

  it("that no rule allows are an error, which says what to add", () => {
    const secrets = secretFor("api.github.com", "uploads.github.com");
    expect(thrown(() => checkSecretHosts(secrets, allowing("api.github.com")))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "The secret TOKEN is for uploads.github.com, which no rule allows",
      hint: "Allow uploads.github.com in the rules of egress.",
    });
    const optional = [parseSecretOption("GITHUB_TOKEN@api.github.com", ENV, ALLOW)];
    expect(thrown(() => checkSecretHosts(optional, allowing("github.com")))).toMatchObject({
      code: "INVALID_ARGUMENT",
      hint: "Allow it: api.github.com.",
    });
    const configured = loadSecrets({ GITHUB_TOKEN: { hosts: ["*.github.com"], in: HEADER } }, ENV);
    expect(thrown(() => checkSecretHosts(configured, allowing("github.com")))).toMatchObject({
      code: "CONFIG_INVALID",
      message: "The secret GITHUB_TOKEN is for *.github.com, which no rule allows",
      hint: 'Add "*.github.com" to sandbox.network.allowedDomains.',
    });
  });

  it("that a rule denies are an error", () => {
    const denying = {
      ...allowing("*.github.com"),
      deniedDomains: [{ value: "*.api.github.com", rule: "deniedDomains[0]" }],
    };
    expect(thrown(() => checkSecretHosts(secretFor("api.github.com"), denying))).toMatchObject({
      message: "The secret TOKEN is for api.github.com, which rule deniedDomains[0] denies",
    });
  });
});
