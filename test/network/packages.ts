import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";

const WHEEL = "skerry_hello-1.0-py3-none-any.whl";
const MAKE_WHEEL = `
import sys, zipfile
info = "skerry_hello-1.0.dist-info/"
files = {
    "skerry_hello.py": "WORDS = 'hello from a wheel'\\n",
    info + "METADATA": "Metadata-Version: 2.1\\nName: skerry-hello\\nVersion: 1.0\\n",
    info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
files[info + "RECORD"] = "".join(name + ",,\\n" for name in [*files, info + "RECORD"])
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, text in files.items(): wheel.writestr(name, text)
`;

/** What an origin has for pip, npm and git, by path. */
export class Packages {
  readonly #files: string;

  constructor(directory: string) {
    this.#files = join(directory, "packages");
    mkdirSync(this.#files);
    execFileSync("/usr/bin/python3", ["-c", MAKE_WHEEL, join(this.#files, WHEEL)]);
    this.#makeNpmPackage();
    this.#makeRepository();
  }

  /** Undefined: there is nothing. `base` is the URL that these paths are below. */
  find(path: string, base: string): { readonly type: string; readonly body: string | Buffer } | undefined {
    if (path === "/simple/skerry-hello/")
      return { type: "text/html", body: `<!DOCTYPE html><a href="${base}/files/${WHEEL}">${WHEEL}</a>` };
    if (path === `/files/${WHEEL}`) return this.#read(WHEEL);
    if (path === "/npm/skerry-hello")
      return { type: "application/json", body: this.#describe(`${base}/npm`) };
    if (path === "/npm/skerry-hello/-/skerry-hello-1.0.0.tgz") return this.#read("hello.tgz");
    return path.startsWith("/hello.git/") && !path.includes("..") ? this.#read(path.slice(1)) : undefined;
  }

  /** Speaks git's own protocol below /smart, as the large hosts of repositories do. */
  serveGit(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { "content-type": type, "content-encoding": encoding, "git-protocol": protocol } = request.headers;
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: this.#files,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: path.slice("/smart".length),
        QUERY_STRING: (request.url ?? "").split("?")[1] ?? "",
        REQUEST_METHOD: request.method,
        ...(type !== undefined && { CONTENT_TYPE: type }),
        ...(encoding !== undefined && { HTTP_CONTENT_ENCODING: encoding }),
        ...(typeof protocol === "string" && { GIT_PROTOCOL: protocol }),
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.on("error", () => undefined);
    request.pipe(child.stdin);
    buffer(child.stdout).then((answer) => {
      const end = answer.indexOf("\r\n\r\n");
      const headers = answer
        .toString("latin1", 0, end)
        .split("\r\n")
        .map((line) => line.split(/: */, 2) as [string, string]);
      const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
      response.writeHead(Number.parseInt(status, 10), headers.flat()).end(answer.subarray(end + 4));
    });
  }

  #read(name: string) {
    try {
      return { type: "application/octet-stream", body: readFileSync(join(this.#files, name)) };
    } catch {
      return undefined;
    }
  }

  #describe(base: string): string {
    const tarball = readFileSync(join(this.#files, "hello.tgz"));
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const dist = { tarball: `${base}/skerry-hello/-/skerry-hello-1.0.0.tgz`, integrity };
    const versions = { "1.0.0": { name: "skerry-hello", version: "1.0.0", dist } };
    return JSON.stringify({ name: "skerry-hello", "dist-tags": { latest: "1.0.0" }, versions });
  }

  #makeNpmPackage(): void {
    mkdirSync(join(this.#files, "package"));
    writeFileSync(
      join(this.#files, "package/package.json"),
      '{ "name": "skerry-hello", "version": "1.0.0" }',
    );
    writeFileSync(join(this.#files, "package/index.js"), 'module.exports = "hello from a package";\n');
    execFileSync("tar", ["-czf", "hello.tgz", "package"], { cwd: this.#files });
  }

  /** A bare repository that any web server can serve. */
  #makeRepository(): void {
    const git = (...args: readonly string[]) => {
      const who = ["-c", "user.name=test", "-c", "user.email=test@skerry.test"];
      const env = { PATH: process.env.PATH, HOME: this.#files, GIT_CONFIG_NOSYSTEM: "1" };
      execFileSync("git", [...who, ...args], { cwd: this.#files, env, stdio: "ignore" });
    };
    git("init", "-q", "work");
    writeFileSync(join(this.#files, "work/hello.txt"), "hello from a repository\n");
    git("-C", "work", "add", ".");
    git("-C", "work", "commit", "-q", "-m", "test");
    git("clone", "-q", "--bare", "work", "hello.git");
    git("-C", "hello.git", "update-server-info");
  }
}
