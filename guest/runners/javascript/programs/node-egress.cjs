"use strict";
// Sends what Node's own clients ask for through the proxy of the environment: `fetch`, and `http.request` and
// `https.request` with Node's agents. `NODE_OPTIONS=--require <this file>`; nothing is loaded before it is used, except
// for ES modules, whose imports cannot be intercepted.
// Node 24 does the same with NODE_USE_ENV_PROXY=1, and is left alone.

const proxy = process.env.HTTPS_PROXY ?? process.env.HTTP_PROXY;
const [major, minor] = process.versions.node.split(".").map(Number);
const knowsProxies = major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);

if (proxy !== undefined && !(knowsProxies && process.env.NODE_USE_ENV_PROXY === "1")) {
  hookFetch();
  hookAgents();
}

function hookFetch() {
  const plain = globalThis.fetch;
  if (typeof plain !== "function") return;
  globalThis.fetch = function fetch(input, init) {
    if (globalThis.fetch === fetch) globalThis.fetch = plain;
    replaceDispatcher();
    return plain(input, init);
  };
  // It also serves callers that keep a reference to this function.
  let isReplaced = false;
  function replaceDispatcher() {
    if (isReplaced) return;
    isReplaced = true;
    void globalThis.Headers; // loads undici, which puts its agent in place
    const key = Symbol.for("undici.globalDispatcher.1");
    const Agent = globalThis[key]?.constructor;
    // A program that set an agent of another kind keeps it.
    if (Agent?.name === "Agent") globalThis[key] = new Agent({ connect: connectForFetch });
  }
}

function connectForFetch({ hostname, port, protocol, servername }, callback) {
  const isSecure = protocol === "https:";
  const target = { host: hostname, port: Number(port) || (isSecure ? 443 : 80) };
  open(target, isSecure ? { servername: servername || hostname, ALPNProtocols: ["http/1.1"] } : undefined, callback);
}

function hookAgents() {
  const Module = require("node:module");
  const load = Module._load;
  const pending = new Set(["http", "https"]);
  Module._load = function _load(request, ...rest) {
    const loaded = load.call(this, request, ...rest);
    if (pending.size > 0 && typeof request === "string" && /^(?:node:)?https?$/.test(request)) {
      const name = request.replace("node:", "");
      if (pending.delete(name)) hookAgent(loaded.Agent.prototype, name === "https");
      if (pending.size === 0 && Module._load === _load) Module._load = load;
    }
    return loaded;
  };
  if (startsAsModule()) for (const name of ["node:http", "node:https"]) require(name);
}

/** A parked Node has the time, and does not know yet what it becomes. */
function startsAsModule() {
  // Where nothing can be reached, `fetch` and `require` are told why; to tell `import` would slow every module down.
  if (process.env.SANDBOX_NETWORK === "none") return false;
  const main = process.argv[1] ?? "";
  if (/(?:\.m[jt]s|\/node-runner\.cjs)$/.test(main)) return true;
  if (process.execArgv.some((argument) => /^(?:--input-type=)?module$/.test(argument))) return true;
  if (!/\.[jt]s$/.test(main)) return false;
  const { readFileSync } = require("node:fs");
  const { dirname, join } = require("node:path");
  for (let folder = dirname(main), last = ""; folder !== last; last = folder, folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).type === "module";
    } catch (error) {
      if (error.code !== "ENOENT") return false;
    }
  }
  return false;
}

function hookAgent(prototype, isSecure) {
  const plain = prototype.createConnection;
  prototype.createConnection = function createConnection(options, callback) {
    const host = options.host ?? options.hostname ?? "localhost";
    const isOurs = typeof callback === "function" && !options.socketPath && !options.socket && !isDirect(host);
    if (!isOurs) return plain.call(this, options, callback);
    const target = { host, port: Number(options.port) || (isSecure ? 443 : 80) };
    const tls = isSecure ? { ...options, servername: options.servername || host } : undefined;
    open(target, tls, callback);
  };
}

function isDirect(host) {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  const list = (process.env.NO_PROXY ?? "").split(",").map((entry) => entry.trim().toLowerCase());
  return list.some((entry) => entry !== "" && (name === entry || name.endsWith(entry.startsWith(".") ? entry : `.${entry}`)));
}

/** Opens a connection by CONNECT, and TLS in it where there are options for that. */
function open({ host, port }, tlsOptions, callback) {
  const net = require("node:net");
  const secure = (socket) => {
    if (tlsOptions === undefined) return callback(null, socket);
    const stream = require("node:tls").connect({ ...tlsOptions, path: undefined, host, port, socket });
    const fail = (error) => callback(error);
    stream.once("error", fail);
    stream.once("secureConnect", () => {
      stream.off("error", fail);
      callback(null, stream);
    });
  };
  if (isDirect(host)) {
    const socket = net.connect({ host, port });
    socket.once("error", callback);
    socket.once("connect", () => {
      socket.off("error", callback);
      secure(socket);
    });
    return;
  }
  const { hostname, port: proxyPort } = new URL(proxy);
  const socket = net.connect({ host: hostname, port: Number(proxyPort) || 80 });
  const authority = `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
  let head = Buffer.alloc(0);
  const fail = (error) => {
    socket.off("data", onData).off("end", onEnd).off("error", fail).destroy();
    socket.on("error", () => {});
    callback(error);
  };
  const onEnd = () => fail(new Error(`the proxy closed the connection to ${authority}`));
  const onData = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return head.length > 65536 ? fail(new Error("the proxy's answer is too long")) : undefined;
    const [, status, reason] = /^HTTP\/1\.\d (\d{3}) ?([^\r]*)/.exec(head.toString("latin1")) ?? [];
    if (status !== "200") return fail(new Error(reason || `the proxy answered ${status}`));
    socket.off("data", onData).off("end", onEnd).off("error", fail).pause();
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
    secure(socket);
    // The process that has the lock listens by now.
    if (tlsOptions === undefined) process.nextTick(() => socket.resume());
  };
  socket.setNoDelay(true).on("error", fail).on("end", onEnd).on("data", onData);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
}
