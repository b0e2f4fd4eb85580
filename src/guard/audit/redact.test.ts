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
    "keyboard = 1",
    "user: bob, primary_key=True",
    "for key in keys: print(key)",
    "def passenger(x): return x",
    "grep 'password=' file | wc",
    "mkdir -p a/b; docker run -p 80:80 x",
    "mysql -p db",
    "python3 -m pytest -k token_test -p no:cacheprovider",
    "ssh://git@github.com/x https://git@host/x",
    "fetch http://localhost:4873/@scope/package",
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

describe("a secret that is written to be missed", () => {
  it.each([
    ["PGPASSWORD=$'hunter2' psql", "PGPASSWORD=[redacted] psql"],
    [`python -c 'password = f"hunter2"'`, "python -c 'password = [redacted]'"],
    [String.raw`password="a\"hunter2"`, "password=[redacted]"],
    ["password=('hunter2')", "password=[redacted]"],
    ["mysql -phunter2", "mysql -p[redacted]"],
    ["sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x"],
    ["curl https://hunter2@github.com/x", "curl https://[redacted]@github.com/x"],
    ["curl https://user:pa/hunter2@host/", "curl https://user:[redacted]@host/"],
    ["curl -uuser:hunter2 https://x", "curl -uuser:[redacted] https://x"],
    ["curl -H 'X-Auth: hunter2'", "curl -H 'X-Auth: [redacted]'"],
    ["curl -H 'Cookie: session=hunter2'", "curl -H 'Cookie: [redacted]'"],
    [`export PASSWORD="$(echo x)"hunter2`, "export PASSWORD=[redacted]"],
    ["PASSWORD=a'hunter2'", "PASSWORD=[redacted]"],
    [String.raw`PASSWORD=\ hunter2`, "PASSWORD=[redacted]"],
    [
      String.raw`--password 'a b' --pass-file x; pass=x\'hunter2`,
      "--password [redacted] --pass-file [redacted]; pass=[redacted]",
    ],
    [`echo ${secret("sk", "-ant-api03-", "a".repeat(20))}`, "echo [redacted]"],
    [String.raw`p\assword=hunter2`, String.raw`p\assword=[redacted]`],
    ["AWS_SECRET_ACCESS_KEY=hunter2", "AWS_SECRET_ACCESS_KEY=[redacted]"],
    ["curl 'https://x/?sig=hunter2&code=hunter2'", "curl 'https://x/?sig=[redacted]&code=[redacted]'"],
    [`echo ${"x".repeat(4000)} ${secret("ghp", "_", "A".repeat(36))}`, `echo ${"x".repeat(4000)} [redacted]`],
    ["password: |\n  hunter2", "password: |\n[redacted]"],
    ["docker login -p hunter2", "docker login -p [redacted]"],
    ["read -s password <<< hunter2", "read -s password <<< [redacted]"],
    ["echo hunter2 | sudo -S x", "echo [redacted] | sudo -S x"],
    ["SECRET_TOKEN_VALUE=hunter2", "SECRET_TOKEN_VALUE=[redacted]"],
    ["passwords = {'db': 'hunter2'}", "passwords = [redacted]"],
    ["Authorization: Basic  hunter2", "Authorization: Basic  [redacted]"],
    ["openssl -passin pass:hunter2", "openssl -passin pass:[redacted]"],
    ["curl -H X-Api-Key:hunter2 -o f x", "curl -H X-Api-Key:[redacted] -o f x"],
    ["curl -sSfLu me:hunter2 x", "curl -sSfLu me:[redacted] x"],
    ['curl -u "me:a hunter2" x', 'curl -u "me:[redacted] x'],
    ["curl 'https://x/?q=1&key=hunter2' -o f", "curl 'https://x/?q=1&key=[redacted]' -o f"],
    [`https://${letters(24)}:x-oauth-basic@github.com/x`, "https://[redacted]@github.com/x"],
    ["mysql -uroot -p'my hunter2' db", "mysql -uroot -p[redacted] db"],
    ["psql 'host=x password=hunter2' -c 'select 1'", "psql 'host=x password=[redacted]' -c 'select 1'"],
    ['password: str = "a hunter2"', "password: [redacted]"],
    [String.raw`{\"password\": \"a hunter2\", \"n\": 1}`, String.raw`{\"password\": [redacted], \"n\": 1}`],
    [`curl -d '{"password": "a hunter2"}' -o x`, `curl -d '{"password": [redacted]}' -o x`],
    ['PASSWORD="$(echo "a b")hunter2" x', "PASSWORD=[redacted] x"],
    ["PASSWORD[0]=hunter2", "PASSWORD[0]=[redacted]"],
    ["<password>hunter2</password>", "<password>[redacted]</password>"],
    ["get(u, auth=('me', 'hunter2'))", "get(u, auth=[redacted]"],
    ["cookies = {'session': 'hunter2'}", "cookies = [redacted]"],
    [String.raw`printf 'x\r\nCookie: a="b"; c=hunter2'`, String.raw`printf 'x\r\nCookie: [redacted]'`],
    ["a:\n  token: >-\n    hunter2\n\n    hunter2\n  b: 1", "a:\n  token: >-\n[redacted]  b: 1"],
  ])("is redacted: %j", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it("is redacted as one word of a shell, whatever it is put together from", () => {
    const part = fc.constantFrom(
      "q7z",
      "'q7z q'",
      '"q7z q"',
      "$'q7z\\' q'",
      "\\ q7z",
      '"q7z\\" q"',
      "$(echo q7z)",
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        expect(redact(`X_PASSWORD=${parts.join("")} run`)).toBe("X_PASSWORD=[redacted] run");
      }),
      { numRuns: 300 },
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
    "password=(",
    'password="$(',
    "password=a(\n",
    "password=a'\n",
    'password=\\"',
    "password: |\n",
    "https://a@",
    "://a:/",
    "| sudo ",
    "|echo x| sudo -S ",
    ' -u "a:',
    "sshpass -p ",
    "mysql -p'",
    "&key=",
    "Cookie: ",
    "<token>",
    "\\\\n",
    "password \t",
    "p!",
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
