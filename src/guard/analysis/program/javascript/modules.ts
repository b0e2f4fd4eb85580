import { imported, type ModuleRule, words } from "../known-functions.js";

/** What importing a module says about a program. */
export const JAVASCRIPT_MODULES: readonly ModuleRule[] = [
  imported(
    "medium",
    "process-module",
    "Starts other programs.",
    words("child_process cluster execa shelljs zx cross-spawn node-pty sudo-prompt"),
  ),
  { rule: "socket", level: "medium", modules: ["net", "dgram", "tls"], why: "Opens connections of its own." },
  {
    rule: "network",
    level: "medium",
    modules: words(`
      http https http2 dns dns.promises axios node-fetch got undici superagent request needle ws
      nodemailer ssh2 ftp puppeteer playwright express fastify koa mongodb pg mysql mysql2 redis ioredis
      socket.io socket.io-client aws-sdk openai hono
    `),
    why: "Talks to the network.",
  },
  imported(
    "medium",
    "dynamic-code",
    "Runs code that is not in the program.",
    words("vm vm2 isolated-vm module"),
  ),
  imported(
    "high",
    "native-code",
    "Calls native code: no rule of this language holds there.",
    words("ffi ffi-napi koffi node-ffi bun:ffi ref-napi"),
  ),
  imported("high", "container-control", "Drives the container daemon, which is root on the host.", [
    "dockerode",
    "docker-cli-js",
  ]),
  imported(
    "high",
    "input-capture",
    "Watches or controls a person's keyboard or screen.",
    words("iohook node-global-key-listener uiohook-napi robotjs screenshot-desktop"),
  ),
  {
    rule: "system-module",
    level: "low",
    modules: words(`
      fs fs.promises fs-extra graceful-fs rimraf del os worker_threads v8 inspector wasi sqlite
      better-sqlite3 sqlite3 glob fast-glob chokidar
    `),
    why: "Reaches files and the system.",
  },
];

/** Modules that only compute. */
export const HARMLESS_MODULES: ReadonlySet<string> = new Set(
  `assert assert.strict async_hooks buffer console constants crypto diagnostics_channel events path path.posix path.win32
  perf_hooks punycode process querystring readline readline.promises stream stream.promises stream.web string_decoder test
  timers timers.promises tty url util util.types zlib
  react react-dom preact vue svelte lodash lodash-es underscore ramda rxjs zod yup ajv joi immer moment dayjs date-fns
  luxon uuid nanoid chalk kleur picocolors commander yargs minimist vitest jest mocha chai sinon @jest/globals
  @testing-library/react fast-check typescript yaml js-yaml toml csv-parse csv-stringify papaparse xlsx cheerio jsdom
  parse5 marked handlebars mustache ejs mathjs bignumber.js decimal.js d3 chart.js three tslib classnames redux zustand
  @reduxjs/toolkit react-redux react-router-dom styled-components semver ms debug p-limit p-queue tiny-invariant
  strip-ansi string-width wrap-ansi cli-table3 ora prettier acorn esprima @babel/parser @babel/core lru-cache`.split(
    /\s+/,
  ),
);
