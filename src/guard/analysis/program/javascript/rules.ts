import { type KnownFunction, known, SELF, words } from "../known-functions.js";
import { MARKS } from "../value.js";

const FILES = words("fs fs.promises fs-extra graceful-fs memfs");
/** A function of every file system module, in its synchronous form too. */
const fs = (...names: string[]): string[] =>
  names.flatMap((name) => FILES.flatMap((module) => [`${module}.${name}`, `${module}.${name}Sync`]));

/** What a JavaScript program can reach for, judged by the arguments where they are known. */
export const JAVASCRIPT_FUNCTIONS: readonly KnownFunction[] = [
  {
    rule: "dynamic-code",
    level: "medium",
    names: words(`
      eval execScript vm.runInThisContext vm.runInNewContext vm.runInContext vm.compileFunction vm.Script
      *._compile module._compile module.prototype._compile module()._compile module.constructor()._compile vm.SourceTextModule
      vm2.VM().run vm2.NodeVM().run require-from-string
    `),
    code: 0,
    language: "javascript",
    why: "Runs code that is made while the program runs.",
  },
  known(
    "medium",
    "dynamic-code",
    "Makes a function out of text.",
    ["Function", "AsyncFunction", "GeneratorFunction", "Function.constructor"],
    { code: 0, language: "javascript", called: true },
  ),
  known(
    "safe",
    "timer-code",
    "Runs text as code later.",
    words("setTimeout setInterval setImmediate execScript"),
    { code: 0, codeIf: "text", language: "javascript" },
  ),
  known(
    "medium",
    "dynamic-code",
    "Loads or runs code in a way that is not looked into.",
    words(`
      repl.start module.register module.registerHooks module.runMain v8.setFlagsFromString
      v8.startupSnapshot.setDeserializeMainFunction jiti jiti.createJiti().evalModule ts-node.create ts-node.register
      node-serialize.unserialize jsonpath.query test.run inspector.Session().post inspector.promises.Session().post
    `),
    { called: true, starts: ["unknown", 0] },
  ),
  known("high", "native-code", "Loads native code.", ["process.dlopen"], {
    called: true,
    starts: ["unknown", 0],
  }),
  known(
    "medium",
    "process",
    "Starts another program.",
    words(`
      process.execve tinyexec.x tinyexec.exec nano-spawn open simple-git.simpleGit simple-git child_process.fork().constructor concurrently
      concurrently.default nodemon gulp-shell.task npm-run-all
    `),
    { called: true, starts: ["unknown", 0] },
  ),
  known("safe", "timer-code", "May make a function out of text.", ["Function.?"], {
    code: 0,
    codeIf: "text",
    language: "javascript",
  }),
  known("high", "remote-code", "Runs code from an address.", ["importScripts"], { called: true }),
  {
    rule: "dynamic-import",
    level: "safe",
    names: words(`
      require import module.require module.createRequire() require.main.require process.getBuiltinModule
    `),
    why: "Loads a module.",
  },
  {
    rule: "loader-internals",
    level: "high",
    names: words(`
      module._load module.constructor._load process.mainModule.constructor._load
      process.mainModule.require
    `),
    why: "Reaches the loader by a back door.",
  },
  {
    rule: "loader-internals",
    level: "medium",
    names: words(`
      module._extensions module._resolveFilename process.mainModule require.cache require.extensions
    `),
    why: "Reaches into the loader.",
  },
  {
    rule: "native-code",
    level: "high",
    names: words(`
      process._debugProcess Deno.dlopen bun.ffi.* ffi-napi.* ffi.* koffi.* node-ffi.*
      ref-napi.* Bun.dlopen
    `),
    starts: ["unknown", 0],
    why: "Calls native code: no rule of this language holds there.",
  },
  known(
    "high",
    "native-code",
    "Calls the runtime's own native code: no rule of this language holds there.",
    words("process.binding process._linkedBinding internalBinding"),
    { starts: ["binding", 0] },
  ),
  {
    rule: "native-code",
    level: "medium",
    names: words(`
      WebAssembly.instantiate WebAssembly.Module WebAssembly.compile WebAssembly.instantiateStreaming
      wasi.WASI
    `),
    why: "Runs compiled code.",
  },
  {
    rule: "process",
    level: "medium",
    names: words(`
      child_process.exec child_process.execSync shelljs.exec shelljs.cmd shelljs.cat().exec shelljs.echo().exec
      shelljs.ShellString().exec zx.$ zx.$.sync zx.$() execa.$.sync execa.$() execa.$().sync dax-sh.$ dax-jsx.$ execa.execaCommand
      execa.execaCommandSync execa.$ Bun.$ bun.$ Bun.spawn Bun.spawnSync Deno.run $
    `),
    starts: ["command", [0, "cmd"]],
    input: "input",
    endless: "high",
    called: true,
    why: "Starts a shell.",
  },
  {
    rule: "process",
    level: "medium",
    names: words(`
      child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync execa
      execa.execa execa.execaSync execa.execaNode cross-spawn cross-spawn.spawn cross-spawn.sync
      node-pty.spawn Deno.Command
    `),
    starts: ["spawn", 0],
    input: "input",
    endless: "high",
    why: "Starts another program.",
  },
  known("medium", "process", "Starts another program.", ["child_process.ChildProcess"], {
    starts: ["unknown", 0],
  }),
  known(
    "medium",
    "process",
    "Starts another copy of the interpreter.",
    ["child_process.fork", "cluster.fork"],
    { starts: ["fork", 0], paths: [[0, "read"]], endless: "high" },
  ),
  known("medium", "process", "Starts a shell.", ["*.execSync"], { starts: ["command-if-text", 0] }),
  known("medium", "process", "Starts another program.", ["*.spawnSync", "*.execFileSync"], {
    starts: ["spawn", 0],
  }),
  {
    rule: "process",
    level: "medium",
    names: words(
      "child_process.ChildProcess().spawn child_process._forkChild sudo-prompt.exec child_process.?",
    ),
    starts: ["unknown", 0],
    why: "Starts another program.",
  },
  known("low", "threads", "Starts a thread.", ["worker_threads.Worker", "Worker"], {
    code: 0,
    codeIf: "eval",
    language: "javascript",
    endless: "high",
    called: true,
  }),
  { rule: "kill", level: "medium", names: ["process.kill"], signals: 0, why: "Signals processes." },
  known(
    "low",
    "credential-store",
    "Reads what a person keeps secret.",
    ["keytar.*", "clipboardy.read", "clipboardy.readSync"],
    { returns: MARKS.secret, called: true },
  ),
  known("low", "processes", "Lists all processes.", ["ps-list", "ps-list.default", "find-process"], {
    returns: MARKS.others,
  }),
  known("high", "listener", "Lets a debugger in from outside.", ["inspector.open"], { called: true }),
  {
    rule: "network",
    level: "medium",
    names: words(
      "express().* express.Router().* fastify().* fastify.fastify().* koa().* hono.Hono().* http.createServer https.createServer",
    ),
    returns: MARKS.network,
    called: true,
    why: "Answers requests from outside.",
  },
  {
    rule: "privilege",
    level: "high",
    names: words(`
      process.setuid process.setgid process.seteuid process.setegid process.setgroups process.initgroups
    `),
    why: "Changes who the program is.",
  },
  {
    rule: "socket",
    level: "medium",
    names: words(`
      net.Socket net.connect net.createConnection net.Socket().* net.connect().* net.createConnection().*
      tls.connect dgram.createSocket Deno.connect Bun.connect tls.connect().* dgram.createSocket().*
    `),
    sends: true,
    returns: MARKS.network,
    called: true,
    why: "Opens a connection of its own.",
  },
  known(
    "medium",
    "listener",
    "Waits for raw connections from outside.",
    words("net.createServer net.Server tls.createServer dgram.createSocket().bind Deno.listen"),
  ),
  known("medium", "socket", "Uses a connection of its own.", ["net.createServer().*"], {
    sends: true,
    returns: MARKS.network,
    called: true,
  }),
  {
    rule: "network",
    level: "medium",
    names: words(`
      fetch XMLHttpRequest XMLHttpRequest().* WebSocket WebSocket().* EventSource navigator.sendBeacon
      http.* https.* http2.* axios axios.* node-fetch node-fetch.* got got.* undici.* superagent.*
      superagent request request.* needle.* ws.* ws dns.* dns.promises.* nodemailer.* ssh2.* ftp.*
      puppeteer.* playwright.* socket.io-client.* mongodb.* pg.* mysql.* redis.* express().listen
      Deno.serve Bun.serve fetch().* @octokit/rest.* octokit.*
    `),
    sends: true,
    returns: MARKS.network,
    called: true,
    why: "Talks to the network.",
  },
  known(
    "safe",
    "network",
    "Part of talking to the network.",
    words("http.STATUS_CODES http.METHODS http.IncomingMessage http.Agent https.Agent"),
  ),
  {
    rule: "file",
    level: "low",
    names: [
      ...fs(
        "readFile",
        "readdir",
        "opendir",
        "readlink",
        "access",
        "stat",
        "lstat",
        "exists",
        "createReadStream",
        "watch",
        "watchFile",
        "readJson",
        "glob",
      ),
      "Deno.readTextFile",
      "Deno.readFile",
      "Deno.readTextFileSync",
      "Deno.readDir",
      "Bun.file",
    ],
    paths: [[0, "read"]],
    called: true,
    why: "Reads files.",
  },
  known("low", "file", "Opens a file.", fs("open"), { paths: [[0, "read"]], mode: 1, called: true }),
  {
    rule: "file",
    level: "low",
    names: [
      ...fs(
        "writeFile",
        "appendFile",
        "mkdir",
        "mkdtemp",
        "createWriteStream",
        "truncate",
        "utimes",
        "outputFile",
        "writeJson",
        "outputJson",
        "ensureDir",
        "ensureFile",
      ),
      "Deno.writeTextFile",
      "Deno.writeFile",
      "Deno.writeTextFileSync",
      "Deno.writeFileSync",
      "Bun.write",
    ],
    paths: [[0, "write"]],
    called: true,
    why: "Writes files.",
  },
  {
    rule: "file-delete",
    level: "low",
    names: [
      ...fs("unlink", "rmdir", "rm", "remove", "emptyDir"),
      "rimraf",
      "rimraf.sync",
      "rimraf.rimraf",
      "rimraf.rimrafSync",
      "del",
      "Deno.remove",
    ],
    paths: [[0, "remove"]],
    called: true,
    why: "Deletes files.",
  },
  {
    rule: "file",
    level: "low",
    names: fs("copyFile", "cp", "link", "symlink", "copy"),
    paths: [
      [0, "read"],
      [1, "write"],
    ],
    called: true,
    why: "Copies files.",
  },
  {
    rule: "file",
    level: "low",
    names: fs("rename", "move"),
    paths: [
      [0, "remove"],
      [1, "write"],
    ],
    called: true,
    why: "Moves files.",
  },
  known("low", "file-mode", "Changes who may use a file.", fs("chmod", "fchmod", "lchmod"), {
    paths: [[0, "write"]],
    called: true,
  }),
  known("high", "privilege", "Changes who owns a file.", fs("chown", "lchown", "fchown"), { called: true }),
  {
    rule: "huge-allocation",
    level: "safe",
    names: words(`
      Buffer.alloc Buffer.allocUnsafe Array Uint8Array Float64Array ArrayBuffer SharedArrayBuffer
    `),
    amount: [0, 2 ** 30],
    why: "Takes memory.",
  },
  { rule: "environment", level: "low", names: ["process.env"], why: "Reads or changes the environment." },
  known(
    "medium",
    "prototype",
    "Changes what objects are made of.",
    ["Object.setPrototypeOf", "Object.prototype.__defineGetter__"],
    { called: true },
  ),
  known("medium", "heap", "Reads the memory of the process.", ["v8.*", "inspector.*", "process.report.*"], {
    called: true,
  }),
  known("medium", "browser-data", "Reads what a browser keeps for a person.", [
    "document.cookie",
    "localStorage",
    "navigator.clipboard.readText",
  ]),
  known("low", "file", "Reads files.", ["Bun.file().text", "Bun.file().json"], { paths: [[SELF, "read"]] }),
];

/** Functions that give a module by its name. */
export const LOADERS: ReadonlySet<string> = new Set([
  ...["require", "import", "module.require", "module.createRequire()", "process.mainModule.require"],
  ...["require.main.require", "process.getBuiltinModule", "module._load", "module.constructor._load"],
  ...["process.mainModule.constructor._load", "module.prototype.require", "module.Module._load"],
]);

/** Names that are there without an import. Only those that a rule or a fold knows matter. */
export const GLOBALS: ReadonlySet<string> = new Set(
  `eval Function AsyncFunction require process module setTimeout setInterval setImmediate fetch XMLHttpRequest WebSocket
  EventSource navigator document localStorage Buffer atob btoa String Number parseInt Reflect Array Object Promise
  WebAssembly Deno Bun importScripts Worker decodeURIComponent decodeURI unescape Uint8Array Float64Array ArrayBuffer
  SharedArrayBuffer JSON execScript fs child_process os path net http https vm $ axios internalBinding URL Blob encodeURIComponent`.split(
    /\s+/,
  ),
);

/** Objects whose members must not be chosen by a name that is made while the program runs. */
export const GUARDED: ReadonlySet<string> = new Set(
  "globalThis process module require child_process vm fs process.mainModule Reflect".split(" "),
);
