import type { Candidates, ListedCommand } from "./command-table.js";

/** What fish loads from its directory of completions. */
export function fishScript(commands: readonly ListedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  const lines = commands.flatMap(({ path, commands: below, options, argument }) => {
    const at = `complete -c skerry -n "__skerry_at '${path}'"`;
    return [
      ...below.map(({ name, description }) => `${at} -a ${name} -d ${quoted(description)}`),
      ...(below.length > 0 ? [] : argumentsOf(argument).map((each) => `${at} ${each}`)),
      ...options.map(({ names, description, value }) => {
        const spelt = names.map((name) =>
          name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        );
        return [at, ...spelt, ...flagsOf(value), "-d", quoted(description)].join(" ");
      }),
    ];
  });
  return `# Completion of skerry for fish: skerry completion fish > ~/.config/fish/completions/skerry.fish

# Whether the words so far name exactly this command.
function __skerry_at
    set -l path ''
    for word in (commandline -opc)[2..]
        switch "$path $word"
            case ${paths.join(" ")}
                set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end

complete -c skerry -f
${lines.join("\n")}
`;
}

function argumentsOf(value: Candidates): string[] {
  if (value === "anything") return [];
  return value === "files" ? ["-F"] : [`-a ${listOf(value)}`];
}

function flagsOf(value: Candidates | undefined): string[] {
  if (value === undefined) return [];
  if (value === "files") return ["-r", "-F"];
  return value === "anything" ? ["-x"] : ["-x", "-a", listOf(value)];
}

function listOf(value: Exclude<Candidates, "files" | "anything">): string {
  if (value === "sessions") return "'(skerry sessions ls 2>/dev/null)'";
  return value === "programs" ? "'(__fish_complete_command)'" : quoted(value.join(" "));
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
