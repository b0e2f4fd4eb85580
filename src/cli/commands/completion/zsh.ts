import { type Candidates, type ListedCommand, valuePlaces } from "./command-table.js";

/** What zsh loads from a directory of fpath, or reads with `source`. */
export function zshScript(commands: readonly ListedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  const values = valuePlaces(commands).map(
    ({ value, places }) => `    ${places.join("|")}) ${offer(value)}; return ;;`,
  );
  const cases = commands.map(({ path, options, commands: below, argument }) => {
    const names = options.flatMap((option) => option.names.map((name) => entry(name, option.description)));
    const rest =
      below.length > 0
        ? `names=(${below.map(({ name, description }) => entry(name, description)).join(" ")}); _describe command names`
        : offer(argument);
    return `    '${path}') if [[ $current == -* ]]; then names=(${names.join(" ")}); _describe option names; else ${rest}; fi ;;`;
  });
  return `#compdef skerry
# Completion of skerry for zsh: skerry completion zsh > ~/.zfunc/_skerry

_skerry() {
  local current=\${words[CURRENT]} previous=\${words[CURRENT - 1]} where='' i
  local -a names
  for ((i = 2; i < CURRENT; i++)); do
    if [[ \${words[i]} == -- ]]; then
      _files
      return
    fi
    case "$where \${words[i]}" in
      (${paths.join("|")}) where="$where \${words[i]}" ;;
    esac
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P 1 '*='
  fi
  case "$where:$previous" in
${values.join("\n").replaceAll(/^ {4}/gm, "    (")}
  esac
  case "$where" in
${cases.join("\n").replaceAll(/^ {4}/gm, "    (")}
  esac
}

if [[ \${funcstack[1]} == _skerry ]]; then _skerry "$@"; else compdef _skerry skerry; fi
`;
}

function offer(value: Candidates): string {
  switch (value) {
    case "files":
      return "_files";
    case "programs":
      return "_command_names -e";
    case "sessions":
      return `compadd -- \${(f)"$(\${words[1]} sessions ls 2>/dev/null </dev/null)"}`;
    case "anything":
      return ":";
    default:
      return `compadd -- ${value.join(" ")}`;
  }
}

/** `'--json:print JSON'`, as _describe reads it. */
function entry(name: string, description: string): string {
  return `'${name}:${description.replaceAll("'", "'\\''").replaceAll(":", "\\:")}'`;
}
