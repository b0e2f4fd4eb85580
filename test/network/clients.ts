import type { Component } from "../setup/requires.js";

/** A program that fetches, as people use it: nothing but the environment tells it of the proxy. */
export interface Client {
  readonly name: string;
  readonly needs: readonly Component[];
  /** A program outside that it is made with. Where there is none, it is left out. */
  readonly optional?: string;
  /** The name of the host that it is shown at; below skerry.test. */
  readonly at?: string;
  /** A shell command that gets what is at $BASE, and prints "hello from …". */
  readonly fetch: string;
  /** The same for what is at $BASE/private, with $TOKEN to show there. Left out: it has no own way to do so. */
  readonly fetchPrivate?: string;
  /** It shows the line of a refusal itself. Otherwise only the result of the execution does. */
  readonly shows?: boolean;
  /** What comes with it into the workspace. */
  readonly files?: Readonly<Record<string, string>>;
  /** How it asks. Left out: https. */
  readonly scheme?: "http" | "https";
}

const URLLIB = `
import os, sys, urllib.request, urllib.error
request = urllib.request.Request(sys.argv[1])
if len(sys.argv) > 2: request.add_header("Authorization", "Bearer " + os.environ["TOKEN"])
try: print(urllib.request.urlopen(request, timeout=10).read().decode())
except urllib.error.URLError as error: sys.exit(f"{error} {error.reason}")
`;

const REQUESTS = `
import os, sys, requests
auth = ("user", os.environ["TOKEN"]) if len(sys.argv) > 2 else None
print(requests.get(sys.argv[1], auth=auth, timeout=10).text)
`;

const FETCH = `
const headers = process.argv.length > 3 ? { authorization: \`Bearer \${process.env.TOKEN}\` } : {};
try { console.log(await (await fetch(process.argv[2], { headers })).text()); }
catch (error) { console.error(error, error.cause?.message); process.exit(1); }
`;

const GET = `
const client = require(process.argv[2].split(":")[0]);
const options = process.argv.length > 3 ? { auth: "user:" + process.env.TOKEN } : {};
client.get(process.argv[2], options, (response) => response.pipe(process.stdout))
  .on("error", (error) => { console.error(error.message); process.exit(1); });
`;

export const GO = `package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	request, _ := http.NewRequest("GET", os.Args[1], nil)
	if len(os.Args) > 2 { request.Header.Set("Authorization", "Bearer " + os.Getenv("TOKEN")) }
	response, err := http.DefaultClient.Do(request)
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
	io.Copy(os.Stdout, response.Body)
}
`;

const PIP =
  "python3 -m pip install -q --disable-pip-version-check --no-cache-dir --no-deps --retries 0 --timeout 10 --upgrade --target lib";
const SAY_WHEEL = "PYTHONPATH=lib python3 -c 'import skerry_hello; print(skerry_hello.WORDS)'";
const NPM =
  "npm install --silent --no-audit --no-fund --no-update-notifier --fetch-retries=0 --loglevel=error";
const SAY_PACKAGE = `node -e 'console.log(require("skerry-hello"))'`;

/** Each runs in a directory of its own. */
export const CLIENTS: readonly Client[] = [
  {
    name: "curl, plain HTTP",
    needs: ["curl"],
    scheme: "http",
    fetch: "curl -sS $BASE/hello",
    shows: true,
  },
  {
    name: "curl",
    needs: ["curl"],
    fetch: "curl -sS $BASE/hello",
    fetchPrivate: 'curl -sS -H "Authorization: Bearer $TOKEN" $BASE/private/hello',
  },
  {
    name: "curl, Basic",
    needs: ["curl"],
    fetch: "curl -sS --http1.1 $BASE/hello",
    fetchPrivate: 'curl -sS -u "user:$TOKEN" $BASE/private/hello',
  },
  {
    name: "curl over SOCKS",
    needs: ["curl"],
    fetch: "curl -sS --socks5-hostname 127.0.0.1:3128 $BASE/hello",
    fetchPrivate:
      'curl -sS --socks5-hostname 127.0.0.1:3128 -H "Authorization: Bearer $TOKEN" $BASE/private/hello',
  },
  {
    name: "curl over SOCKS, plain HTTP",
    needs: ["curl"],
    scheme: "http",
    fetch: "curl -sS --proxy socks5h://127.0.0.1:3128 $BASE/hello",
  },
  {
    name: "wget",
    needs: ["wget"],
    fetch: "wget -nv -t 1 -O - --ca-certificate=$SSL_CERT_FILE $BASE/hello",
    fetchPrivate:
      'wget -nv -t 1 -O - --ca-certificate=$SSL_CERT_FILE --header "Authorization: Bearer $TOKEN" $BASE/private/hello',
    shows: true,
  },
  {
    name: "pip",
    needs: ["python3", "pip"],
    at: "pypi.skerry.test",
    fetch: `${PIP} --index-url $BASE/simple skerry-hello && ${SAY_WHEEL}`,
    fetchPrivate: `${PIP} --index-url https://user:$TOKEN@$HOST/private/simple skerry-hello && ${SAY_WHEEL}`,
  },
  {
    name: "npm",
    needs: ["npm"],
    at: "npm.skerry.test",
    fetch: `${NPM} --registry $BASE/npm/ skerry-hello && ${SAY_PACKAGE}`,
    fetchPrivate: `echo "//$HOST/private/npm/:_authToken=\${TOKEN}" > .npmrc && ${NPM} --registry $BASE/private/npm/ skerry-hello && ${SAY_PACKAGE}`,
    files: { "package.json": "{}" },
  },
  {
    name: "git",
    needs: ["git"],
    at: "git.skerry.test",
    fetch: "rm -rf public && git clone -q $BASE/hello.git public && cat public/hello.txt",
    fetchPrivate:
      "git -c credential.helper='!f() { echo username=user; echo password=$TOKEN; }; f' clone -q $BASE/private/hello.git private && cat private/hello.txt",
  },
  {
    name: "git, its own protocol",
    needs: ["git"],
    at: "git.skerry.test",
    fetch: "rm -rf public && git clone -q --depth 1 $BASE/smart/hello.git public && cat public/hello.txt",
    fetchPrivate:
      "git clone -q https://user:$TOKEN@$HOST/private/smart/hello.git private && cat private/hello.txt",
  },
  {
    name: "Python's urllib",
    needs: ["python3"],
    files: { "get.py": URLLIB },
    fetch: "python3 get.py $BASE/hello",
    fetchPrivate: "python3 get.py $BASE/private/hello token",
    shows: true,
  },
  {
    name: "Python's requests",
    needs: ["python3", "requests"],
    files: { "get.py": REQUESTS },
    fetch: "python3 get.py $BASE/hello",
    fetchPrivate: "python3 get.py $BASE/private/hello token",
    shows: true,
  },
  {
    name: "Node's fetch",
    needs: [],
    files: { "get.mjs": FETCH },
    fetch: "node get.mjs $BASE/hello",
    fetchPrivate: "node get.mjs $BASE/private/hello token",
    shows: true,
  },
  {
    name: "Node's http",
    needs: [],
    scheme: "http",
    files: { "get.cjs": GET },
    fetch: "node get.cjs $BASE/hello",
    shows: true,
  },
  {
    name: "Node's https",
    needs: [],
    files: { "get.cjs": GET },
    fetch: "node get.cjs $BASE/hello",
    fetchPrivate: "node get.cjs $BASE/private/hello token",
    shows: true,
  },
  {
    name: "Go's net/http",
    needs: [],
    optional: "go",
    fetch: "./get $BASE/hello",
    fetchPrivate: "./get $BASE/private/hello token",
    shows: true,
  },
];
