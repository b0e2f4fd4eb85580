import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { ENTRIES } from "../../bench/entries/index.js";
import { createProgram } from "../../src/cli/program.js";
import { LANGUAGES, REASONS } from "../../src/runtime/sandbox/index.js";
import { blocksOf, code, commandLines, list, quote, read, tableRows } from "./documents.js";

/** Words of each `./skerry …` in a line of shell, up to a pipe or the next command. */
function skerryWords(line: string): string[][] {
  const tokens = [...line.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"|;&]+)|([|;&]+)/g)];
  const commands: string[][] = [];
  let current: string[] | undefined;
  for (const [, single, double, bare, operator] of tokens) {
    if (operator !== undefined) current = undefined;
    else if (bare === "./skerry") {
      current = [];
      commands.push(current);
    } else current?.push(single ?? double ?? bare ?? "");
  }
  return commands;
}

/** The command that words name, and the first option it does not have. */
function resolveCommand(words: readonly string[]): { path: string; unknown: string | undefined } {
  let command = createProgram() as Command;
  const path: string[] = [];
  for (const [index, word] of words.entries()) {
    if (word === "--") break;
    if (word.startsWith("-") && word !== "-") {
      const option = command.options.find(({ short, long }) => word === short || word === long);
      if (option === undefined && !["-h", "--help"].includes(word))
        return { path: path.join(" "), unknown: word };
      continue;
    }
    const next = command.commands.find((each) => each.name() === word);
    if (next !== undefined && index === path.length) {
      command = next;
      path.push(word);
    }
  }
  return { path: path.join(" "), unknown: undefined };
}

/** Every command below, with its full name. */
function allCommands(
  command: Command = createProgram(),
  path: string[] = [],
): { path: string; command: Command }[] {
  return command.commands.flatMap((each) => {
    const name = [...path, each.name()];
    return [{ path: name.join(" "), command: each }, ...allCommands(each, name)];
  });
}

function optionsOf(command: Command): string[] {
  const own = (command.options as readonly Option[])
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long }) => long ?? []);
  return [...own, "--help"];
}

describe("every command line in the documents", () => {
  it("is one that the program understands", () => {
    const unknown = commandLines.flatMap(({ line, where }) =>
      skerryWords(line).flatMap((words) => {
        const { path, unknown: option } = resolveCommand(words);
        if (path === "") return [`${where}: no command in ${line}`];
        return option === undefined ? [] : [`${where}: ${path} has no ${option}`];
      }),
    );
    expect(unknown).toEqual([]);
    expect(commandLines.filter(({ line }) => skerryWords(line).length > 0).length).toBeGreaterThan(20);
  });

  it("would notice an option that does not exist", () => {
    expect(resolveCommand(["run", "--tiemout", "3s", "x.py"])).toEqual({ path: "run", unknown: "--tiemout" });
    expect(resolveCommand(["files", "ls", "--session", "work"])).toEqual({
      path: "files ls",
      unknown: undefined,
    });
    expect(skerryWords("cat a | X=1 ./skerry run - ; ./skerry exec -- sh -c 'a; b'")).toEqual([
      ["run", "-"],
      ["exec", "--", "sh", "-c", "a; b"],
    ]);
  });
});

it("every configuration of an MCP client in the documents starts a command as the program understands it", () => {
  const starts = blocksOf("docs/mcp.md", "json").flatMap(({ text }) => {
    const { mcpServers, servers } = JSON.parse(text) as Record<
      string,
      Record<string, { command: string; args: string[] }>
    >;
    // Those that lead to a server are tried in server.test.ts.
    return text.includes("/mcp") ? [] : Object.values((mcpServers ?? servers)!);
  });
  expect(starts.map(({ command, args }) => [command, resolveCommand(args)])).toEqual(
    Array(4).fill(["skerry", { path: "mcp", unknown: undefined }]),
  );
});

describe("the documents and the help", () => {
  const commandLine = read("docs/command-line.md");
  const help = allCommands();
  const helped = new Set(
    help.flatMap(({ command }) => optionsOf(command)).concat(optionsOf(createProgram())),
  );

  it("name the same options", () => {
    const named = new Set(commandLine.match(/(?<![\w-])--[a-z][a-z-]*/g));
    expect([...named].filter((option) => !helped.has(option))).toEqual([]);
    expect([...helped].filter((option) => !named.has(option))).toEqual([]);
  });

  it("name the same commands", () => {
    const shown = commandLines
      .flatMap(({ line }) => skerryWords(line))
      .map((words) => resolveCommand(words).path);
    const groups = help.filter(({ command }) => command.commands.length > 0).map(({ path }) => path);
    const missing = help
      .map(({ path }) => path)
      .filter((path) => path !== "help" && !groups.includes(path) && !shown.includes(path));
    expect(missing).toEqual([]);
    const table = tableRows(commandLine, "command").map(([cell]) => /^`\.\/skerry (\w+)/.exec(cell!)?.[1]);
    const top = createProgram().commands.map((command) => command.name());
    expect(table).toEqual([...top, "help"]);
  });

  it("name the same benchmarks", () => {
    expect(tableRows(read("bench/README.md"), "entry").map(([name]) => code(name))).toEqual(
      ENTRIES.map(({ name }) => name),
    );
  });

  it("name the same languages and reasons", () => {
    expect(tableRows(read("docs/languages.md"), "language").map((row) => row.slice(0, 3))).toEqual(
      LANGUAGES.map(({ name, aliases, extensions }) =>
        [name].map(quote).concat([list(aliases), list(extensions)]),
      ),
    );
    const reasons = tableRows(read("docs/results.md"), "`reason`").flatMap(
      ([cell]) => cell!.match(/[a-z-]+/g) ?? [],
    );
    expect(reasons).toEqual([...REASONS]);
  });
});
