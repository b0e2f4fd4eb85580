import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import type { RunningSandbox } from "../index.js";

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await openManager({ backend: "bubblewrap" }).startSandbox("replaced");
});

afterEach(() => Promise.all(sandbox.listContexts().map((context) => context.close())));

/** Those without which Node.js itself goes on. */
const METHODS = `
const fail = () => { throw new Error("mine") };
const wanted = [
  [Array, ["at", "concat", "every", "filter", "find", "flatMap", "includes", "join", "map", "slice", "some", "sort"]],
  [String, ["at", "includes", "match", "padStart", "repeat", "replace", "search", "slice", "split", "trim"]],
  [Map, ["get", "set", "has", "delete", "forEach"]],
  [RegExp, ["exec", "test"]],
  [Promise, ["catch", "finally"]],
];
for (const [of, names] of wanted) for (const name of names) of.prototype[name] = fail;`;

const FUNCTIONS = `
const mine = () => { throw new Error("mine") };
JSON.stringify = JSON.parse = Object.entries = Object.assign = Object.defineProperty = Reflect.apply = mine;
Buffer.from = Buffer.concat = Buffer.alloc = Buffer.byteLength = process.cpuUsage = process.resourceUsage = mine;
require("node:fs").writeSync = require("node:util").inspect = mine;`;

describe.each(["javascript", "typescript"])("code of %s that replaces what the language has", (language) => {
  it.each([
    ["the then of promises", "Promise.prototype.then = null"],
    ["the push of arrays", "Array.prototype.push = () => 0"],
    ["what walks through arrays", "Array.prototype[Symbol.iterator] = null"],
    ["methods of everything", METHODS],
    ["functions of everything", FUNCTIONS],
  ])("%s keeps its context", async (_, code) => {
    const context = await sandbox.createContext({ language });
    const run = async (text: string, timeoutMs = 20_000) => {
      const { reason, error, stdout, results } = await context.run(text, { timeoutMs });
      return [reason, error, stdout, ...results.map(({ data }) => data["text/plain"])];
    };
    await run("let kept = 42");
    await run(`${code}\nvoid 0`);
    expect(await run("console.log('printed'); kept")).toEqual(["exited", undefined, "printed\n", "42"]);
    expect(await run("throw new RangeError('bad')")).toEqual(["exited", "RangeError: bad", ""]);
    expect((await run("while (true) {}", 300))[0]).toBe("timeout");
    expect(await run("await 0; kept")).toEqual(["exited", undefined, "", "42"]);
    expect(await run("const = 1")).toEqual(["exited", expect.stringMatching(/^SyntaxError: /), ""]);
    expect(await run("process.exit(3)")).toEqual(["exited", "ProcessExit: 3", ""]);
    expect(await run("display.html('<b>')")).toEqual(["exited", undefined, "", "(text/html)"]);
  });
});
