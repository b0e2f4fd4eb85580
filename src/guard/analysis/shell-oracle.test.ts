import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { findCommands } from "./find-commands.js";

/** Programs that only note that they ran. */
const NAMES = ["qcurl", "qwget", "qnc", "qssh"];

/** Every run starts dozens of processes. */
const RUNS = 40;
const TIMEOUT_MS = 180_000;

let directory = "";

beforeAll(() => {
  directory = temporaryDirectory();
  mkdirSync(join(directory, "bin"));
  for (const name of NAMES) {
    const path = join(directory, "bin", name);
    writeFileSync(path, `#!/bin/sh\necho ${name} >> "$ORACLE_LOG"\n`);
    chmodSync(path, 0o755);
  }
});

/** What bash really runs of a text. */
function runForReal(text: string): Set<string> {
  const log = join(directory, "log");
  writeFileSync(log, "");
  const script = join(directory, "script");
  writeFileSync(script, text);
  const env = { PATH: `${join(directory, "bin")}:/usr/bin:/bin`, ORACLE_LOG: log };
  // Kills the whole group, should a generated loop not end.
  const args = ["-s", "KILL", "120", "bash", "--norc", script];
  const result = spawnSync("timeout", args, { cwd: directory, env, input: "" });
  expect(result.signal).toBe(null);
  return new Set(
    readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line !== ""),
  );
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A delimiter that does not stand in the text. */
function end(inner: string): string {
  return `END${inner.split("END").length}`;
}

/** Spellings of a name that a shell takes for the name. */
const name = fc
  .constantFrom(...NAMES)
  .chain((plain) =>
    fc.constantFrom(
      plain,
      `\\${plain}`,
      `"${plain}"`,
      `'${plain.slice(0, 2)}'${plain.slice(2)}`,
      `${plain.slice(0, 1)}""${plain.slice(1)}`,
      `${plain.slice(0, 1)}\\\n${plain.slice(1)}`,
      `$'\\x${plain.charCodeAt(0).toString(16)}${plain.slice(1)}'`,
      `$(echo ${plain})`,
      `$(printf %s ${plain})`,
      `{${plain},a}`,
      `env ${plain}`,
      `env A=1 nice ${plain}`,
      `timeout 5 ${plain}`,
      `command ${plain}`,
      `eval ${plain}`,
      `A=b ${plain}`,
    ),
  );

const { script } = fc.letrec<{ script: string; command: string; word: string }>((tie) => ({
  word: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("a", '"b c"', "'d;e'", "-x", "f\\ g", "$A", '"$A"', "1>&2", "2>/dev/null", "h#i"),
    tie("script").map((inner) => `$(${inner}\n)`),
    tie("script").map((inner) => `"x $(${inner}\n) y"`),
    tie("command").map((inner) => `\`${inner.replaceAll(/[\\`$]/g, "\\$&")}\``),
    tie("script").map((inner) => `<(${inner}\n)`),
    tie("script").map((inner) => `\${NONE:-$(${inner}\n)}`),
    tie("script").map((inner) => `"\${NONE:-\`${inner.replaceAll(/[\\`$"]/g, "\\$&")}\`}"`),
  ),
  command: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc
      .tuple(name, fc.array(tie("word"), { maxLength: 2 }))
      .map(([first, words]) => [first, ...words].join(" ")),
    fc.tuple(tie("command"), tie("command")).map(([a, b]) => `{ ${a}\n${b}\n}`),
    tie("script").map((inner) => `(${inner}\n)`),
    fc.tuple(tie("command"), tie("command")).map(([a, b]) => `if ${a}\nthen ${b}\nfi`),
    fc.tuple(tie("command"), tie("command")).map(([a, b]) => `while ${a}\ndo ${b}\nbreak\ndone`),
    tie("command").map((inner) => `for i in 1 2; do ${inner}\ndone`),
    tie("command").map((inner) => `for c in ${NAMES[0]} true; do $c; ${inner}\ndone`),
    tie("command").map((inner) => `case a in b) true;; (a|c) ${inner}\n;; esac`),
    tie("command").map((inner) => `f() { ${inner}\n}\nf`),
    tie("script").map((inner) => `bash -c ${quote(inner)}`),
    tie("script").map((inner) => `eval ${quote(inner)}`),
    tie("script").map((inner) => `bash <<< ${quote(inner)}`),
    tie("script").map((inner) => `echo ${quote(inner)} | bash`),
    tie("script").map((inner) => `bash <<'${end(inner)}'\n${inner}\n${end(inner)}\n`),
    tie("script").map((inner) => `cat <<${end(inner)}\n$(${inner}\n)\n${end(inner)}\n`),
    tie("command").map((inner) => `echo a | xargs -I{} bash -c ${quote(inner)}`),
    tie("command").map((inner) => `find . -maxdepth 0 -exec bash -c ${quote(inner)} \\;`),
    tie("command").map((inner) => `trap ${quote(inner)} EXIT`),
    tie("word").map((word) => `A=${word.startsWith("<(") || /^\d/.test(word) ? "a" : word}\n$A`),
    tie("word").map((word) => `[[ -n ${/^[12-]/.test(word) ? "a" : word} ]]`),
  ),
  script: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("command"),
    fc
      .tuple(
        tie("command"),
        fc.constantFrom("\n", "\n&& ", "\n|| ").map((join) => join.replace("\n", "")),
        tie("command"),
      )
      .map(([a, join, b]) => (join === "" || a.endsWith("\n") ? `${a}\n${b}` : `${a} ${join}${b}`)),
    fc.tuple(tie("command"), tie("command")).map(([a, b]) => (a.endsWith("\n") ? `${a}${b}` : `${a} | ${b}`)),
  ),
}));

it(
  "whatever bash runs of a text was found in it before",
  async () => {
    await fc.assert(
      fc.asyncProperty(script, async (text) => {
        const { commands, problems } = await findCommands(text);
        const found = new Set(commands.map((command) => command.name));
        const ran = runForReal(text);
        const missed = [...ran].filter(
          (each) => !found.has(each) && !found.has(undefined) && problems.length === 0,
        );
        expect(missed).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);

it(
  "a text that bash takes is one that we can read",
  async () => {
    await fc.assert(
      fc.asyncProperty(script, async (text) => {
        const checked = spawnSync("bash", ["-n"], { input: text, timeout: 120_000 });
        fc.pre(checked.status === 0);
        const { problems } = await findCommands(text);
        // bash has not looked into the texts in the text.
        expect(problems.filter(({ what }) => !what.startsWith("in "))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);
