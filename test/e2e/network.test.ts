import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { EgressHosts } from "../setup/egress-hosts.js";
import { requires } from "../setup/requires.js";
import { createUser, type Ended, LAUNCHER, type User } from "./run-skerry.js";

const SECRET = "the-value-that-must-not-leak-7391";
const HOST = "api.skerry.test";

const hosts = new EgressHosts();
const children: ChildProcess[] = [];
let user: User;
let port: number;
/** What the host was told, a request each. */
let heard: string[] = [];

beforeAll(async () => {
  user = createUser();
  port = await hosts.https((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers.authorization ?? "-"}`);
    // An answer that repeats everything it was told.
    response.setHeader("x-echo", request.headers.authorization ?? "-");
    response.end(`${JSON.stringify(request.headers)}\n`);
  }, HOST);
  writeFileSync(join(user.home, "hosts"), `127.0.0.1 localhost\n127.0.0.2 ${HOST} other.skerry.test\n`);
  const network = { allowedIps: ["127.0.0.2/32"], allowedPorts: [port], upstreamCa: hosts.caPath };
  writeFileSync(join(user.home, "config.json"), JSON.stringify({ sandbox: { network } }));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  heard = [];
});

afterAll(() => hosts.close());

/** Starts the command line in a place where the test's hosts have names. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const config = ["--config", join(user.home, "config.json")];
  const script = 'mount --bind "$1" /etc/hosts && shift && exec "$@"';
  const words = ["-c", script, "sh", join(user.home, "hosts"), LAUNCHER, ...config, ...args];
  const child = spawn("unshare", ["--mount", "sh", ...words], {
    cwd: user.home,
    env: { ...user.environment, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  children.push(child);
  const ended = Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]).then(([stdout, stderr, status]): Ended => ({ status, stdout, stderr }));
  return { child, ended };
}

const skerry = (args: readonly string[], env?: Readonly<Record<string, string>>) => start(args, env).ended;
requires("root", "bubblewrap").describe("skerry, with egress", () => {
  it("reaches what --allow-domain names, and says in one line what it does not", async () => {
    const fetched = await skerry([
      ...["exec", "--allow-domain", HOST, "--session", "out", "--"],
      ...["curl", "-sS", "--insecure", `https://${HOST}:${port}/there`],
    ]);
    expect(fetched).toMatchObject({ status: 0, stderr: "" });
    expect(heard).toEqual(["GET /there -"]);
    const refused = await skerry([
      ...["exec", "--allow-domain", HOST, "--session", "out", "--"],
      ...["curl", "-sS", "--insecure", `https://other.skerry.test:${port}/`],
    ]);
    expect(refused.status).not.toBe(0);
    const lines = refused.stderr.trim().split("\n");
    expect(lines.at(-1)).toBe("skerry: other.skerry.test is not allowed by rule --allow-domain");

    const log = await skerry(["egress", "log", "--session", "out", "--json"]);
    expect(log.status).toBe(0);
    const records = JSON.parse(log.stdout);
    expect(records.map(({ result }: { result: string }) => result)).toEqual(["success", "denied"]);
    expect(records[0]).toMatchObject({
      policy_rule: `--allow-domain ${HOST}`,
      details: { via: "connect", host: HOST, port, address: "127.0.0.2" },
    });
    expect(records[0].network_bytes_recv).toBeGreaterThan(500);
  });

  it("says that there is no network, and which option opens it", async () => {
    const config = join(user.home, "closed.json");
    writeFileSync(config, JSON.stringify({}));
    const ended = await skerry(["--config", config, "exec", "--", "curl", "-sS", "http://api.example.com/"]);
    const line =
      "this sandbox has no network: api.example.com was refused; allow it with --allow-domain api.example.com";
    expect(ended).toEqual({ status: 0, stdout: `${line}\n`, stderr: `skerry: ${line}\n` });
  });

  it("opens what a client is configured with, and says what stays outside", async () => {
    const index = `https://me:${SECRET}@${HOST}:${port}/simple`;
    const config = join(user.home, "closed.json");
    writeFileSync(config, JSON.stringify({}));
    const script = "env | grep ^PIP_INDEX_URL=; curl -sS http://api.example.com/";
    const ended = await skerry(["--config", config, "exec", "--allow", "pip", "--", "sh", "-c", script], {
      PIP_INDEX_URL: index,
    });
    expect(ended).toEqual({
      status: 0,
      stdout: `PIP_INDEX_URL=https://${HOST}:${port}/simple\napi.example.com is not allowed by rule --allow-domain\n`,
      stderr: [
        `skerry: --allow pip: what ${HOST} is shown as credentials stays outside; --secret puts them in at the edge\n`,
        "skerry: api.example.com is not allowed by rule --allow-domain\n",
      ].join(""),
    });
    const unknown = await skerry(["exec", "--allow", "npn", "--", "true"]);
    expect(unknown).toMatchObject({ status: 64, stderr: expect.stringContaining("hint: Did you mean npm?") });
  });

  it("warns of --allow-internet, which leaves this machine shut", async () => {
    const config = join(user.home, "closed.json");
    writeFileSync(config, JSON.stringify({}));
    const curl = ["curl", "-sS", "http://169.254.169.254/"];
    const ended = await skerry(["--config", config, "exec", "--allow-internet", "--", ...curl]);
    const refusal = "169.254.169.254 (metadata) is not allowed by rule sandbox.network.allowedIps";
    expect(ended).toEqual({
      status: 0,
      stdout: `${refusal}\n`,
      stderr: `skerry: warning: --allow-internet opens every public host: what a program reads, it can send anywhere\nskerry: ${refusal}\n`,
    });
  });

  it("puts a secret in for its host, and the value is nowhere else", async () => {
    const script = [
      "env > env.txt",
      `curl -sS -i -H "Authorization: Bearer $TOKEN" https://${HOST}:${port}/mine`,
      `curl -sS -o /dev/null -w '%{http_code}\\n' -H "Authorization: Bearer $TOKEN" http://${HOST}:${port}/plain`,
      `grep -rl "$NEEDLE" /workspace /tmp /proc/self/environ /proc/1/environ 2>/dev/null; true`,
    ].join("\n");
    const running = start(
      [
        ...["exec", "--allow-domain", HOST, "--secret", `TOKEN@${HOST}`, "--session", "secret"],
        // In two halves: the search would find itself.
        ...["--env", `HALF=${SECRET.slice(0, 20)}`, "--", "sh", "-c"],
        `NEEDLE="$HALF${SECRET.slice(20)}"; export NEEDLE HALF; unset HALF\n${script}`,
      ],
      { TOKEN: SECRET },
    );
    const { status, stdout, stderr } = await running.ended;
    expect({ status, heard }).toEqual({ status: 0, heard: [`GET /mine Bearer ${SECRET}`] });
    // The host repeated it, in a header and in the body: both came in with the placeholder instead.
    expect(stdout.match(/Bearer skerry_secret_TOKEN_/g)).toHaveLength(2);
    expect(stdout).toMatch(/^403$/m);
    for (const output of [stdout, stderr]) expect(output).not.toContain(SECRET);
    expect(spawnSync("grep", ["-rlF", SECRET, user.home], { encoding: "utf8" }).stdout).toBe("");
    const log = await skerry(["egress", "log", "--session", "secret"]);
    expect(log.stdout).toContain("/mine");
    expect(log.stdout).toContain("denied");
  });

  it("refuses a secret that has no value, and one for a host that nothing allows", async () => {
    const without = await skerry(["exec", "--allow-domain", HOST, "--secret", `TOKEN@${HOST}`, "--", "true"]);
    expect(without.status).toBe(64);
    const nowhere = await skerry(["exec", "--secret", `TOKEN@${HOST}`, "--", "true"], { TOKEN: SECRET });
    expect(nowhere.status).toBe(64);
    expect(nowhere.stderr).toContain(`hint: Add --allow-domain '${HOST}'`);
    expect(nowhere.stderr).not.toContain(SECRET);
  });

  it.each(["*", "*.com", "https://example.com", "exa mple.com"])(
    "refuses --allow-domain %s",
    async (name) => {
      const refused = await skerry(["exec", "--allow-domain", name, "--", "true"]);
      expect(refused).toMatchObject({ status: 64, stdout: "" });
      expect(refused.stderr).toMatch(/^skerry: --allow-domain .*\nhint: /);
    },
  );
});

requires("bubblewrap", "python3").describe("skerry port", () => {
  const ask = async (at: number) => {
    const socket = connect(at, "127.0.0.1");
    socket.write("GET / HTTP/1.0\r\n\r\n");
    return text(socket);
  };

  /** The port outside, once the command line has told it. */
  async function openPort(args: readonly string[]) {
    const child = spawn(LAUNCHER, ["port", "--json", ...args], {
      cwd: user.home,
      env: user.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    let said = "";
    child.stdout.on("data", (data: Buffer) => {
      said += data.toString();
    });
    await waitUntil(() => said.includes("\n"));
    return { child, at: JSON.parse(said.split("\n")[0]!).hostPort as number };
  }

  it("opens a port of a command, and of a session that another process runs", async () => {
    const server = ["python3", "-u", "-m", "http.server", "8000", "--bind", "127.0.0.1"];
    const first = await openPort(["--session", "web", "8000", "--", ...server]);
    await waitUntil(async () => {
      const answer = await ask(first.at).catch(() => "");
      return answer.includes("Directory listing");
    }, 180_000);
    const second = await openPort(["--session", "web", "8000"]);
    expect(await ask(second.at)).toContain("Directory listing");
    expect(user.skerry(["sessions", "ls", "--json"]).stdout).toContain('"running":true');

    // The second one runs no program; the first one's ends at a Ctrl-C with a status of its own.
    for (const [{ child }, status] of [
      [second, 130],
      [first, 0],
    ] as const) {
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGINT");
      expect(await closed).toBe(status);
    }
    await expect(ask(first.at)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(readdirSync(join(user.home, "state/control"))).toEqual([]);
  });

  it("says what to do about a session that does not run, and about numbers that are no ports", () => {
    const idle = user.skerry(["port", "--session", "idle", "8000"]);
    expect(idle.status).toBe(69);
    expect(idle.stderr).toContain("hint: Start a server in it: skerry port --session idle 8000 -- COMMAND");
    for (const wrong of ["0", "65536", "http"]) {
      expect(user.skerry(["port", "--session", "idle", wrong]).status).toBe(64);
    }
    expect(user.skerry(["port", "8000"]).stderr).toContain("--session");
  });
});

requires("root", "bubblewrap").describe("skerry egress allow and deny", () => {
  it("change what a session of another process reaches", async () => {
    const url = `https://${HOST}:${port}/again`;
    const loop = `until curl -sS --insecure ${url} >/dev/null 2>&1; do sleep 0.1; done; echo reached\nwhile curl -sS --insecure ${url} >/dev/null 2>&1; do sleep 0.1; done; echo lost`;
    const running = start(["exec", "--session", "live", "--", "sh", "-c", loop]);
    let said = "";
    running.child.stdout!.on("data", (data: Buffer) => {
      said += data.toString();
    });
    const change = async (kind: string) => {
      let ended: Ended | undefined;
      await waitUntil(async () => {
        ended = await skerry(["egress", kind, "--session", "live", HOST]);
        return ended.status === 0;
      }, 180_000);
    };
    await change("allow");
    await waitUntil(() => said.includes("reached"));
    await change("deny");
    await waitUntil(() => said.includes("lost"));
    expect((await running.ended).status).toBe(0);
  });

  it("say that there is nothing to change where the session does not run", () => {
    const idle = user.skerry(["egress", "allow", "--session", "idle", "x.example"]);
    expect(idle.status).toBe(69);
    expect(idle.stderr).toContain("does not run");
  });
});

describe("skerry egress log", () => {
  it("says where there is none", () => {
    const other = createUser();
    const { status, stderr } = other.skerry(["egress", "log"]);
    expect([status, stderr.includes("there is no audit log yet")]).toEqual([66, true]);
  });
});
