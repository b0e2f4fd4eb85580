import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "./redact.js";

const redact = createRedactor();

/** Put together here, so that no scanner takes this file for a leak. */
const secret = (...parts: string[]) => parts.join("");
const letters = (length: number) => "aB3dE5gH7jK9".repeat(20).slice(0, length);

describe("what looks like a secret", () => {
  it.each([
    ["an AWS key", `id ${secret("AKIA", "IOSFODNN7EXAMPLE")} end`, "id [redacted] end"],
    ["a GitHub token", `x=${secret("ghp", "_", letters(36))}`, "x=[redacted]"],
    ["a fine-grained GitHub token", secret("github", "_pat_", letters(60)), "[redacted]"],
    ["a GitLab token", secret("glpat", "-", letters(20)), "[redacted]"],
    ["a Slack token", secret("xoxb", "-1234567890-", letters(12)), "[redacted]"],
    ["an API key", `key "${secret("sk", "-ant-", letters(30))}"`, 'key "[redacted]"'],
    ["a payment key", secret("sk", "_live_", letters(24)), "[redacted]"],
    ["a Google key", secret("AIza", letters(35)), "[redacted]"],
    ["an npm token", secret("npm", "_", letters(36)), "[redacted]"],
    [
      "a JSON web token",
      `t: ${secret("ey", "J", letters(12), ".", letters(16), ".", letters(20))};`,
      "t: [redacted];",
    ],
    [
      "a bearer token",
      "curl -H 'Authorization: Bearer abcdef.123456' x",
      "curl -H 'Authorization: Bearer [redacted]' x",
    ],
    ["basic credentials", "Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"],
    [
      "a password in a URL",
      "git clone https://me:hunter2@host/repo",
      "git clone https://me:[redacted]@host/repo",
    ],
    [
      "a password with an at sign in a URL",
      "postgres://u:p@ss@db:5432/x",
      "postgres://u:[redacted]@db:5432/x",
    ],
    ["an assignment", "export DB_PASSWORD=hunter2 && run", "export DB_PASSWORD=[redacted] && run"],
    ["a quoted assignment", `api_key = "two words"; x`, "api_key = [redacted]; x"],
    ["a key of JSON", `{"clientSecret": "abc", "n": 1}`, `{"clientSecret": [redacted], "n": 1}`],
    ["a flag", "mysql --password hunter2 db", "mysql --password [redacted] db"],
    ["curl's user", "curl -u me:hunter2 host", "curl -u me:[redacted] host"],
    [
      "a private key",
      `a\n-----BEGIN ${"RSA PRIVATE"} KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nb`,
      "a\n[redacted]\nb",
    ],
    ["a private key that is cut", `a -----BEGIN ${"PRIVATE"} KEY-----\nMIIE`, "a [redacted]"],
  ])("is redacted: %s", (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each([
    "telegram:42",
    "risk-assessment-of-something-long",
    "NameError: name 'tokens' is not defined",
    "/workspace/keys/monkey.txt",
    "https://example.com/a@b",
    "2026-02-07T12:00:00.000Z",
  ])("is not what an ordinary text is: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  it("is found in the midst of anything", () => {
    const words = [
      "password",
      "=",
      " ",
      ":",
      "//",
      "@",
      "Bearer",
      "abcdefgh",
      "token",
      '"',
      "'",
      " -u ",
      "\n",
      "--",
      "x",
    ];
    const around = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(""));
    const value = fc
      .stringMatching(/^[A-Za-z0-9!#$%()*+,.:<=>?[\]^_{|}~-]{6,40}$/)
      .map((text) => `q7${text}`);
    fc.assert(
      fc.property(around, around, value, (before, after, hidden) => {
        const token = secret("ghp", "_", letters(36));
        expect(redact(`${before} ${token} ${after}`)).not.toContain(token);
        expect(redact(`${before} PGPASSWORD=${hidden} ${after}`)).not.toContain(hidden);
      }),
      { numRuns: 500 },
    );
  });
});

describe("text that is made to be slow", () => {
  // Quadratic time would be minutes for these: the runner's timeout is the check.
  it.each([
    "eyJ-",
    "password=",
    "password='",
    "://a:",
    "--token ",
    `-----BEGIN ${"PRIVATE"} KEY-----`,
    "authorization: ",
    "sk-",
    "bearer ",
    " -u a",
    "--user a:",
    "----------",
    "xoxb-",
  ])("of many %j is done in time", (part) => {
    expect(redact(part.repeat(Math.ceil(250_000 / part.length))).length).toBeGreaterThan(0);
  });
});

describe("what a user configures", () => {
  it("is redacted as text and as a pattern", () => {
    const own = createRedactor(["hunter2", "hunter2000", /ticket-\d+/]);
    expect(own("hunter2000 hunter2 ticket-1 ticket-22")).toBe("[redacted] [redacted] [redacted] [redacted]");
    // The second time too: a pattern keeps no place.
    expect(own("ticket-1")).toBe("[redacted]");
  });

  it("is refused when it would be found everywhere", () => {
    expect(() => createRedactor(["abc"])).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});
