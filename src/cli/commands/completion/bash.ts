import { type Candidates, type ListedCommand, valuePlaces } from "./command-table.js";

/** What bash reads with `source`. */
export function bashScript(commands: readonly ListedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => `'${path}'`);
  const values = valuePlaces(commands).map(
    ({ value, places }) => `    ${places.join("|")}) ${offer(value)}; return ;;`,
  );
  const cases = commands.map(({ path, options, commands: below, argument }) => {
    const names = options.flatMap((option) => option.names).join(" ");
    const rest = below.length > 0 ? offer(below.map(({ name }) => name)) : offer(argument);
    return `    '${path}') if [[ $current == -* ]]; then _skerry_words ${names}; else ${rest}; fi ;;`;
  });
  return `# Completion of skerry for bash: source <(skerry completion bash)

_skerry_words() {
  local word
  for word; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
  done
}

_skerry_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
}

# What a session is called is never read as shell.
_skerry_sessions() {
  local name
  while IFS= read -r name; do
    if [[ $name == "$current"* ]]; then COMPREPLY+=("$(printf %q "$name")"); fi
  done < <("\${COMP_WORDS[0]}" sessions ls 2>/dev/null </dev/null)
}

_skerry() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} path='' i
  COMPREPLY=()
  # --option=value arrives as three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      _skerry_files -f
      return
    fi
    case "$path \${COMP_WORDS[i]}" in
      ${paths.join("|")}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path:$previous" in
${values.join("\n")}
  esac
  case "$path" in
${cases.join("\n")}
  esac
}

complete -F _skerry skerry
`;
}

function offer(value: Candidates): string {
  switch (value) {
    case "files":
      return "_skerry_files -f";
    case "programs":
      return "_skerry_files -c";
    case "sessions":
      return "_skerry_sessions";
    case "anything":
      return ":";
    default:
      return `_skerry_words ${value.join(" ")}`;
  }
}
