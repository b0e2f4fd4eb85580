import { deepEqual, equal, rejects } from "node:assert/strict";
import { waitUntil } from "../../kit/wait-until.js";
import type { CodeContext, ContextResult } from "../../runtime/sandbox/index.js";
import type { ConformanceCase } from "./conformance-case.js";

const plain = ({ results, exception }: ContextResult) =>
  exception?.traceback ?? results.map(({ data }) => data["text/plain"]);

/** Code that keeps its state: contexts, and copies of those of Python. */
export const contextCases: readonly ConformanceCase[] = [
  {
    title: "keeps the state of a context between runs, in every language",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      for (const [language, first, second, shown] of [
        ["python", "x = 40\nprint('said')", "x + 2", ["42"]],
        ["javascript", "let x = 40; console.log('said')", "x + 2", ["42"]],
        ["typescript", "let x: number = 40; console.log('said')", "x + 2", ["42"]],
        ["bash", "x=40; echo said", "[ $((x + 2)) = 42 ]", []],
      ] as const) {
        const context = await sandbox.createContext({ language });
        const one = await context.run(first);
        const two = await context.run(second);
        deepEqual(
          [language, one.stdout, two.exitCode, plain(two), two.executionCount],
          [language, "said\n", 0, shown, 2],
        );
        await context.close();
      }
    },
  },
  {
    title: "gives Python in a context what it reads, and goes on with its tasks between two pieces of code",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const context = await sandbox.createContext();
      deepEqual(plain(await context.run("input(), input()", { stdin: "one\ntwo\n" })), ["('one', 'two')"]);
      equal((await context.run("input()")).exception?.name, "EOFError");
      await context.run(
        "import asyncio\nasync def tick():\n    global ticks\n    for ticks in range(5): await asyncio.sleep(0.01)",
      );
      await context.run("task = asyncio.create_task(tick())");
      await waitUntil(async () => plain(await context.run("ticks"))[0] === "4");
    },
  },
  {
    title: "interrupts code in a context, which keeps its state, and says why one ended",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const context = await sandbox.createContext();
      await context.run("x = 1");
      equal((await context.run("while True: pass", { timeoutMs: 500 })).reason, "timeout");
      deepEqual(plain(await context.run("x")), ["1"]);
      await context.run("import os; os._exit(7)");
      equal(context.ending, "its code exited with 7");
      await rejects(async () => context.run("x"), { code: "CONTEXT_ENDED" });
      await context.restart();
      deepEqual(plain(await context.run("2")), ["2"]);
    },
  },
  {
    title: "saves the state of a context, goes back to it, and copies it",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const context = await sandbox.createContext();
      await context.run("x = [1]");
      const save = await context.checkpoint();
      await context.run("x = None");
      await context.rollback(save);
      const copies: CodeContext[] = await Promise.all([context.fork(), context.fork()]);
      const values = await Promise.all(
        [context, ...copies].map(async (each, index) => plain(await each.run(`x.append(${index}); x`))),
      );
      deepEqual(values, [["[1, 0]"], ["[1, 1]"], ["[1, 2]"]]);
      await context.close();
      deepEqual(plain(await copies[0]!.run("x")), ["[1, 1]"]);
    },
  },
];
