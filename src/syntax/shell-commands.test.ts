// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are shell
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findCommands, findCommandsOfArgv, findCommandsOfCode, type ShellCommand } from "./shell-commands.js";

/** "curl x ?": name and arguments, a question mark for what is known only when it runs. */
function summary({ name, args }: ShellCommand): string {
  return [name, ...args].map((word) => word ?? "?").join(" ");
}

async function summaries(text: string): Promise<string[]> {
  const { commands, problems } = await findCommands(text);
  expect(problems).toEqual([]);
  return commands.map(summary);
}

/** Each runs `curl x`, and would hide it from somebody who looks for the word at the start of a line. */
const TRICKS: readonly string[] = [
  // Lists and compounds
  "ls; curl x",
  "ls && curl x",
  "ls || curl x",
  "ls & curl x",
  "ls\ncurl x",
  "ls | curl x",
  "ls |& curl x",
  "! curl x",
  "!(curl x)",
  "(curl x)",
  "( (curl x) )",
  "{ curl x; }",
  "{ curl x\n}",
  "if curl x; then :; fi",
  "if false; then :; elif curl x; then :; fi",
  "if false; then :; else curl x; fi",
  "while curl x; do break; done",
  "until false; do curl x; done",
  "for i in 1 2; do curl x; done",
  "for i in 1 2\ndo curl x\ndone",
  "for i; do curl x; done",
  "for i in 1; { curl x; }",
  "for ((i=0; i<1; i++)); do curl x; done",
  "select i in 1; do curl x; done",
  "case a in a) curl x;; esac",
  "case a in (b|a) curl x ;; *) ls ;; esac",
  "case a in a) ls ;& b) curl x ;;& esac",
  "case $(curl x) in *) ;; esac",
  "coproc curl x",
  "coproc NAME { curl x; }",
  "time curl x",
  "time -p curl x",
  "curl x&",
  "curl x>/dev/null",
  ">/dev/null curl x",
  "2>&1 curl x",
  "3<>f curl x",
  "&>f curl x",
  "A=1 B=2 curl x",
  "A=1 >f curl x",
  // Quoting
  "c\\url x",
  "\\curl x",
  'cu""rl x',
  "cu''rl x",
  '"curl" x',
  "'cu'\"rl\" x",
  "$'curl' x",
  "$'\\x63url' x",
  "$'\\143\\165rl' x",
  "$'\\u0063url' x",
  "$'curl\\0hidden' x",
  '$"curl" x',
  "cu\\\nrl x",
  '"cu\\\nrl" x',
  "curl\\\n x",
  "curl \\\n  x",
  "{curl,x}",
  "{c,}url x",
  "cur{l,} x",
  "{curl,{x,y}}",
  "cu{r..r}l x",
  "curl${IFS}x",
  "/usr/bin/curl x",
  "../../bin/curl x",
  "~/bin/curl x",
  '"$HOME/bin/curl" x',
  "/usr/*/curl x",
  // Substitutions
  "echo $(curl x)",
  "echo `curl x`",
  'echo "$(curl x)"',
  'echo "`curl x`"',
  'echo "a $(echo "b $(curl x)")"',
  "echo `echo \\`curl x\\``",
  'echo "`echo \\"\\`curl x\\`\\"`"',
  "echo $(( $(curl x) + 1 ))",
  "echo $[ $(curl x) + 1 ]",
  "((a = $(curl x)))",
  "(( `curl x` ))",
  "A=$(curl x)",
  "A=$(curl x) ls",
  "A+=$(curl x)",
  "A[$(curl x)]=1",
  "A=(1 $(curl x) 2)",
  "export A=$(curl x)",
  "declare -a A=(1 $(curl x))",
  "local A=`curl x`",
  "echo ${A:-$(curl x)}",
  'echo "${A:-$(curl x)}"',
  'echo "${A:-`curl x`}"',
  "echo \"${A:-'$(curl x)'}\"",
  'echo "${A:="$(curl x)"}"',
  "echo ${A[$(curl x)]}",
  "echo ${A//$(curl x)/b}",
  "echo ${A:$(curl x):1}",
  "echo > $(curl x)",
  'echo > "$(curl x)"',
  "cat < $(curl x)",
  "cat <(curl x)",
  "tee >(curl x)",
  "cat < <(curl x)",
  "a<(curl x) b",
  "[[ -n $(curl x) ]]",
  "[[ a =~ $(curl x) ]]",
  "[[ ( a || $(curl x) ) ]]",
  "[ -n $(curl x) ]",
  "echo a$(curl x)b",
  "echo $(ls; curl x)",
  "echo $(ls # )\ncurl x)",
  "echo $(case a in a) curl x;; esac)",
  "echo $( (curl x) )",
  "echo $((curl x); ls)",
  "$(curl x)",
  // Here-documents
  "cat <<EOF\n$(curl x)\nEOF",
  "cat <<EOF\n`curl x`\nEOF",
  "cat <<-EOF\n\t`curl x`\n\tEOF",
  "cat <<EOF\n'$(curl x)'\nEOF",
  "cat <<A <<B\na\nA\n$(curl x)\nB",
  "cat <<'A' <<B\n$(ls)\nA\n$(curl x)\nB",
  "cat <<EOF; curl x\nbody\nEOF",
  "cat <<EOF && ls; curl x\nbody\nEOF",
  "cat <<EOF | curl x\nbody\nEOF",
  "cat <<EOF\nbody\nEOF\ncurl x",
  "cat <<'E'OF\n$(ls)\nEOF\ncurl x",
  "cat <<EOF\n${A:-$(curl x)}\nEOF",
  "cat <<EOF\n$(cat <<IN\n$(curl x)\nIN\n)\nEOF",
  "while read a; do curl x; done <<EOF\na\nEOF",
  'cat <<< "$(curl x)"',
  // Functions, aliases, variables
  "f() { curl x; }",
  "f() { curl x; }; f",
  "f() (curl x)",
  "function f { curl x; }",
  "function f() { curl x; }; f",
  "f() { $1 x; }; f curl",
  'f() { "$@"; }; f curl x',
  "f() { g; }; g() { curl x; }; f",
  "f() if true; then curl x; fi; f",
  "alias ll='curl x'\nll",
  "alias ll=curl; ll x",
  "alias ll='ls; curl x'; ll",
  "alias a=b b='curl x'; a",
  "A=curl; $A x",
  "A=curl; ${A} x",
  'A=curl; "$A" x',
  "A='curl x'; $A",
  "A=cu B=rl; $A$B x",
  "A=curl; B=$A; $B x",
  "A=curl && $A x",
  "export A=curl; $A x",
  "declare A=curl; $A x",
  "A=; ${A:-curl} x",
  'A=; "${A:-"curl"}" x',
  "if true; then A=curl; $A x; fi",
  "for c in curl; do $c x; done",
  "for c in ls curl; do $c x; done",
  "set -- curl x; $1 $2",
  'set -- curl x; "$@"',
  "set -- a curl x; shift; $@",
  "A=ls; f() { local A=curl; $A x; }; f",
  "A=curl; f() { local A=ls; }; f; $A x",
  "$(echo curl) x",
  "$(printf 'cu%s' rl) x",
  "`echo curl` x",
  "A=$(echo curl); $A x",
  "$(echo lruc | rev) x",
  // Wrappers
  "env curl x",
  "env -i A=1 B=2 curl x",
  "env -u A curl x",
  "env - curl x",
  "env -S 'curl x'",
  "env --split-string='curl x'",
  "/usr/bin/env curl x",
  "env env env curl x",
  "nohup curl x &",
  "nice curl x",
  "nice -n 10 curl x",
  "nice -10 curl x",
  "ionice -c 3 curl x",
  "timeout 5 curl x",
  "timeout -s KILL -k 1 5 curl x",
  "timeout --signal=KILL 5 curl x",
  "\\time -f %e curl x",
  "/usr/bin/time curl x",
  "stdbuf -oL curl x",
  "setsid curl x",
  "command curl x",
  "command -p curl x",
  "exec curl x",
  "exec -a ls curl x",
  "builtin eval 'curl x'",
  "busybox curl x",
  "busybox sh -c 'curl x'",
  "sudo curl x",
  "sudo -u root -E A=1 curl x",
  "sudo -- curl x",
  "sudo bash -c 'curl x'",
  "doas curl x",
  "doas -u root curl x",
  "su -c 'curl x'",
  "su root -c 'curl x'",
  "runuser -u nobody curl x",
  "watch curl x",
  "watch -n 1 'curl x'",
  "watch -x curl x",
  "parallel ::: 'curl x'",
  "flock /tmp/l curl x",
  "flock -n /tmp/l -c 'curl x'",
  "chroot / curl x",
  "taskset 1 curl x",
  "strace -o f curl x",
  "unshare -r curl x",
  "find . -exec curl x \\;",
  "find . -exec curl x {} +",
  "find . -name a -ok curl x ';'",
  "find . -exec ls {} \\; -execdir curl x \\;",
  "find . -exec sh -c 'curl x' \\;",
  "ssh host curl x",
  "ssh -p 22 -i k user@host 'ls; curl x'",
  "script -c 'curl x' f",
  "script -qc 'curl x' /dev/null",
  "git -c alias.z='!curl x' z",
  "git -c core.pager='curl x' log",
  "git bisect run curl x",
  "git rebase --exec 'curl x' main",
  "GIT_SSH_COMMAND='curl x' git fetch",
  "PAGER='curl x' man ls",
  "tar -cf a --checkpoint=1 --checkpoint-action=exec='curl x' b",
  "tar xf a --to-command='curl x'",
  "tar -I 'curl x' -xf a",
  "tar --use-compress-program 'curl x' -xf a",
  "rsync -e 'curl x' a b:",
  "split --filter='curl x' a",
  "uv run curl x",
  "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x",
  "hash -p /usr/bin/curl ls; $(echo curl) x",
  "jobs -x curl x",
  "compgen -C 'curl x'",
  "compgen -W '$(curl x)'",
  "mapfile -C 'curl x' -c 1 a",
  // Shells and their texts
  "sh -c 'curl x'",
  "sh -c 'ls; curl x'",
  'bash -c "curl x"',
  "bash -lc 'curl x'",
  "bash -ec 'curl x'",
  "bash -o pipefail -c 'curl x'",
  "bash --norc -c 'curl x'",
  "zsh -c 'curl x'",
  "sh -c 'sh -c \"curl x\"'",
  "sh -c 'exec curl x'",
  "sh -c '$0 x' curl",
  "sh -c '\"$@\"' sh curl x",
  "sh -c '((curl x))'",
  "eval curl x",
  "eval 'curl x'",
  'eval "cu""rl x"',
  "eval 'A=curl'; $A x",
  "eval eval curl x",
  "trap 'curl x' EXIT",
  "trap -- 'curl x' INT TERM",
  "echo 'curl x' | sh",
  "echo 'curl x' | bash -s",
  "echo 'curl x' | sh -",
  "echo 'curl x' | sh /dev/stdin",
  "echo 'curl x' | cat | sh",
  "echo -n 'curl x' | sh",
  "printf 'curl x' | sh",
  "printf '%s %s\\n' curl x | sh",
  "printf 'cu\\162l x' | bash",
  "echo -e '\\x63url x' | bash",
  "echo Y3VybCB4 | base64 -d | sh",
  "echo 6375726c2078 | xxd -r -p | sh",
  "echo 'x lruc' | rev | sh",
  "sh <<< 'curl x'",
  "sh 0<<< 'curl x'",
  "sh 3<<< 'curl x' <&3",
  "sh 3<<EOF <&3\ncurl x\nEOF",
  "echo 'curl x' | sh < /dev/stdin",
  "sh <<EOF\ncurl x\nEOF",
  "sh <<'EOF'\ncurl x\nEOF",
  "cat <<EOF | sh\ncurl x\nEOF",
  "{ echo curl x; } | sh",
  "sh <(echo curl x)",
  "source <(echo curl x)",
  "source /dev/stdin <<< 'curl x'",
  ". /dev/stdin <<EOF\ncurl x\nEOF",
  "echo 'curl x' | (sh)",
  "echo 'curl x' | if true; then sh; fi",
  "echo 'curl x' | at now",
  "sh -c \"$(echo 'curl x')\"",
  // What a shell runs when it looks at variables
  "PS4='$(curl x)'; set -x; ls",
  "PROMPT_COMMAND='curl x'",
  "export PS4='`curl x`'",
  "BASH_ENV='$(curl x)' bash f",
  "A='a[$(curl x)]'; echo $((A))",
  "test -v 'a[$(curl x)]'",
  "printf -v 'a[$(curl x)]' b",
  "A='$(curl x)'; echo ${A@P}",
  // Other languages
  "python -c \"import os; os.system('curl x')\"",
  "python3 -c 'import os;os.system(\"curl x\")'",
  'python3 -Ic \'import subprocess as s; s.run(["curl", "x"])\'',
  "python3 -c'import os; os.popen(\"curl x\")'",
  "python3 - <<EOF\nimport os\nos.system('curl x')\nEOF",
  "python3 <<< 'import os; os.system(\"curl x\")'",
  "echo 'import os; os.system(\"curl x\")' | python3",
  "env python3 -c 'import os; os.system(\"curl x\")'",
  "node -e \"require('child_process').execSync('curl x')\"",
  "node --eval=\"require('child_process').exec('curl x')\"",
  "node -p \"require('child_process').spawnSync('curl', ['x'])\"",
  "node <<< \"require('child_process').execFileSync('curl', ['x'])\"",
  "perl -e 'system(\"curl x\")'",
  'perl -e \'exec "curl", "x"\'',
  "perl -ne 'print `curl x`'",
  "perl -e 'print qx(curl x)'",
  "ruby -e 'system \"curl x\"'",
  "ruby -e 'puts `curl x`'",
  "ruby -e '%x(curl x)'",
  "php -r 'shell_exec(\"curl x\");'",
  "lua -e 'os.execute(\"curl x\")'",
  "Rscript -e 'system(\"curl x\")'",
  "awk 'BEGIN { system(\"curl x\") }'",
  "awk 'BEGIN { \"curl x\" | getline a }'",
  "awk '{ print | \"curl x\" }' f",
  'gawk -v a=b \'{ system("curl" " x") }\' f',
  "sed '1e curl x' f",
  "sed -n '/a\\/b/,$ e curl x' f",
  "sed -e p -e 'e curl x' f",
  "sed 's/.*/curl x/e' f",
  "python3 -c \"__import__('os').system('curl x')\"",
  'sh -c "python3 -c \'import os; os.system(\\"curl x\\")\'"',
];

describe("a command is found", () => {
  it.each(TRICKS.map((text) => [JSON.stringify(text), text]))("in %s", async (_, text) => {
    const found = await summaries(text);
    expect(found.some((each) => /^curl x?/.test(each))).toBe(true);
  });
});

/** Each runs something whose name is not in the text. */
const UNKNOWN: readonly string[] = [
  "$A x",
  "${A} x",
  '"$A" x',
  "$A",
  "$1 x",
  '"$@"',
  "`cat f` x",
  "$(cat f)",
  "${!A} x",
  "A=curl; ${A:1} x",
  "A=curl; ${A^^} x",
  "A=(curl x); ${A[@]}",
  "/usr/bin/c?rl x",
  "/usr/bin/[c]url x",
  "$D/curl x",
  "read A; $A",
  "read -r A <<< curl; $A x",
  "printf -v A curl; $A x",
  "A=ls; read A; $A",
  "declare -l A=CURL; $A x",
  "declare -l A; A=CURL; $A x",
  "declare -n A=B; $A x",
  "A=ls; source f; $A",
  "A=ls; eval $B; $A",
  "if a; then A=curl; fi; $A x",
  "a && A=curl; $A x",
  "A=ls; while a; do $A; A=curl; done",
  "for c in *; do $c x; done",
  "for c in $(cat f); do $c x; done",
  "while read c; do $c; done < f",
  "IFS=,; A=curl,x; $A",
  "eval $A",
  'eval "$A"',
  "eval *",
  'eval "ls $A"',
  'sh -c "$A"',
  "sh $A 'curl x'",
  'sh "$A" ls',
  'sh -c "ls $A"',
  "curl x | sh",
  "cat f | bash",
  "base64 -d f | sh",
  "echo Y3VybCB4 | base64 -d -i | sh",
  "bash <(curl x)",
  "bash < <(curl x)",
  "exec 3< <(curl x); bash <&3",
  "exec 3< <(curl x); bash /dev/fd/3",
  "source <(curl x)",
  'bash <<< "$A"',
  "bash <<EOF\n$A\nEOF",
  "trap $A EXIT",
  "alias a=$B; a",
  "xargs -I{} {} x",
  "xargs -I{} sh -c '{} x'",
  "echo 'curl x' | xargs sh -c",
  "xargs env",
  "timeout $T curl x",
  "find . $A",
  "curl x | python3",
  "curl x | perl",
  'python3 -c "$A"',
  "python3 -c 'import os; os.system(input())'",
  "python3 -c 'exec(open(\"f\").read())'",
  "node -e 'require(\"child_process\").exec(process.argv[1])'",
  "node -e 'eval(x)'",
  "perl -e 'system($x)'",
  "perl -e 'open(F, \"curl x |\")'",
  "ruby -e 'system x'",
  "awk '{ system($1) }' f",
  "awk '{ $1 | getline }' f",
  "awk '{ print | \"sh\" }' f",
  "sed 's/a/b/e' f",
  "sed e f",
  "parallel",
  "parallel {} ::: a b",
  "PS4=$A; set -x",
  "A=$(echo 'a\\b'); $A",
];

describe("a command whose name is known only when it runs is found", () => {
  it.each(UNKNOWN.map((text) => [JSON.stringify(text), text]))("in %s", async (_, text) => {
    const { commands, problems } = await findCommands(text);
    expect(problems).toEqual([]);
    expect(commands.map(({ name }) => name)).toContain(undefined);
  });
});

describe("nothing is found that does not run", () => {
  it.each([
    ["a word in quotes", "echo 'curl x'", ["echo curl x"]],
    ["a word after a quoted separator", 'echo "a; curl x"', ["echo a; curl x"]],
    ["an escaped separator", "echo a\\; curl x", ["echo a; curl x"]],
    ["a comment", "ls # ; curl x", ["ls"]],
    ["a comment of its own", "# curl x\nls", ["ls"]],
    ["a hash inside of a word", "echo a#b", ["echo a#b"]],
    ["a substitution in single quotes", "echo '$(curl x)'", ["echo $(curl x)"]],
    ["an escaped substitution", 'echo "\\$(curl x)"', ["echo $(curl x)"]],
    ["an escaped backquote", 'echo "\\`curl x\\`"', ["echo `curl x`"]],
    ["a here-document with a quoted delimiter", "cat <<'EOF'\n$(curl x)\nEOF", ["cat"]],
    ["a here-document with an escaped delimiter", "cat <<\\EOF\n`curl x`\nEOF", ["cat"]],
    ["a here-document that no shell reads", "cat <<EOF\ncurl x\nEOF", ["cat"]],
    ["an argument", "grep curl f", ["grep curl f"]],
    ["a file's name", "cat /usr/bin/curl", ["cat /usr/bin/curl"]],
    ["a case pattern", "case a in curl) ls;; esac", ["ls"]],
    ["a value", "A=curl ls", ["ls"]],
    ["a lookup", "command -v curl", ["command -v curl"]],
    ["arithmetic", "((curl = 1))", []],
    ["a condition", "[[ curl == x ]]", []],
    ["a function of that name", "curl() { ls; }; curl x", ["ls"]],
    ["a script's name", "bash curl.sh", ["bash curl.sh"]],
    ["text for another program", "echo 'curl x' | grep x", ["echo curl x", "grep x"]],
    ["a regular expression in JavaScript", "node -e '/x/.exec(\"curl\")'", ['node -e /x/.exec("curl")']],
    ["a text in Python", "python3 -c 'print(\"curl x\")'", ['python3 -c print("curl x")']],
    ["another delimiter in sed", "sed 's|a|e|;s/e/b/g' f", ["sed s|a|e|;s/e/b/g f"]],
    ["or in awk", "awk '{ if (a || b) print }' f", ["awk { if (a || b) print } f"]],
    ["an option after the command", "timeout 5 ls -k curl", ["ls -k curl"]],
    ["a list of tests", "[ -f curl ] && ls", ["[ -f curl ]", "ls"]],
  ])("%s", async (_, text, expected) => {
    expect(await summaries(text)).toEqual(expected);
  });
});

describe("a command says", () => {
  it.each<[string, string[][]]>([
    ["curl", [[]]],
    ["echo $(curl)", [[], ["$(…)"]]],
    ["cat <(curl)", [[], ["<(…)"]]],
    ["env curl", [["env"]]],
    ["sudo env curl", [[], ["sudo", "env"]]],
    ["sh -c 'echo $(curl)'", [[], ["sh -c", "$(…)"], ["sh -c"]]],
    ["xargs curl", [["xargs"]]],
    ["find . -exec curl \\;", [[], ["find -exec"]]],
    ["eval curl", [["eval"]]],
    ["f() { curl; }; f", [["function f"]]],
    ["alias a=curl; a", [[], ["alias a"], []]],
    ["sh <<< curl", [[], ["sh", "here-string"]]],
    ["sh <<E\ncurl\nE", [[], ["sh", "here-document"]]],
    ["echo curl | sh", [[], [], ["sh", "pipe"]]],
    ["python3 -c 'import os; os.system(\"curl\")'", [[], ["python3 -c", "os.system"]]],
    ["trap curl EXIT", [[], ["trap"]]],
  ])("how it is reached: %s", async (text, expected) => {
    const { commands } = await findCommands(text);
    expect(commands.map(({ via }) => via)).toEqual(expected);
  });

  it("where it stands, also behind other lines and in a substitution", async () => {
    const { commands } = await findCommands("ls\n\n  echo a $(\n   curl x) `id`");
    expect(commands.map(({ name, line, column }) => [name, line, column])).toEqual([
      ["ls", 1, 1],
      ["echo", 3, 3],
      ["curl", 4, 4],
      ["id", 4, 13],
    ]);
  });

  it("which commands it reads from", async () => {
    const { commands } = await findCommands("curl x | tee f | sh; cat <(wget y)");
    expect(commands.map(({ name, reads }) => [name, reads.map((each) => each.name)])).toEqual([
      ["curl", []],
      ["tee", ["curl"]],
      ["sh", ["curl", "tee"]],
      [undefined, ["curl", "tee"]],
      ["cat", ["wget"]],
      ["wget", []],
    ]);
  });

  it("which commands made the text it runs", async () => {
    const { commands } = await findCommands('sh -c "$(curl x)"');
    const unknown = commands.find(({ name }) => name === undefined);
    expect(unknown?.reads.map(summary)).toEqual(["curl x"]);
  });

  it("its redirections, and those of the group around it", async () => {
    const { commands } = await findCommands('{ ls 2>&1 >"$A"; } >> .env < in; > empty');
    expect(commands.map(({ name, redirects }) => [name, redirects])).toEqual([
      [
        "ls",
        [
          { operator: ">>", target: ".env" },
          { operator: "<", target: "in" },
          { operator: "2>&", target: "1" },
          { operator: ">", target: undefined },
        ],
      ],
      [":", [{ operator: ">", target: "empty" }]],
    ]);
  });

  it("the assignments in front of it", async () => {
    const { commands } = await findCommands("LD_PRELOAD=./x.so A=$B env C=1 ls");
    expect(commands[0]?.assignments).toEqual([
      { name: "LD_PRELOAD", value: "./x.so" },
      { name: "A", value: undefined },
      { name: "C", value: "1" },
    ]);
  });

  it("its path, and which arguments are patterns", async () => {
    const { commands } = await findCommands("./bin/ls '*' *.ts a[1] [");
    expect(commands[0]).toMatchObject({
      name: "ls",
      path: "./bin/ls",
      args: ["*", "*.ts", "a[1]", "["],
      patterns: [1, 2],
    });
  });
});

describe("what cannot be read is a problem", () => {
  it.each([
    ["a quote that is not closed", "ls 'a", "1:4 a single quote is not closed"],
    ["a double quote that is not closed", 'ls "a', "1:4 a double quote is not closed"],
    ["a substitution that is not closed", "ls $(curl", '1:10 a "(" has no ")"'],
    ["a backquote that is not closed", "ls `curl", "1:4 a backquote is not closed"],
    ["an expansion that is not closed", "ls ${a", "1:4 an expansion's brace is not closed"],
    ["a keyword in the wrong place", "ls; fi", '1:5 "fi" stands where a command was expected'],
    ["an end too many", "ls )", '1:4 ")" stands where a command was expected'],
    ["a loop without an end", "while a; do b", '1:14 "done" was expected'],
    ["an empty body", "if a; then fi", '1:12 a command was expected before "fi"'],
    ["an operator without a command", "ls |", "1:5 a command was expected"],
    ["a list that goes nowhere", "ls &&", '1:6 "&&" is followed by nothing'],
    ["a continuation that splits an expansion", "echo $\\\n(curl)", '1:6 a line continuation follows "$"'],
    ["an expression that is none", "((curl x))", '1:11 "((…))" is no arithmetic'],
    ["a NUL byte", "ls\0", "1:3 a NUL byte"],
    ["code that does not parse", "python3 -c 'def f(:'", "1:1 in python3 -c: python that does not parse"],
    ["a text in a text", "sh -c 'ls ('", '1:1 in sh -c: "(" stands after a command'],
  ])("%s", async (_, text, expected) => {
    const { problems } = await findCommands(text);
    expect(problems.map(({ line, column, what }) => `${line}:${column} ${what}`)).toEqual([expected]);
  });

  it("and the lines before and after it are still read", async () => {
    const { commands, problems } = await findCommands("ls\n)\ncurl x");
    expect(commands.map(summary)).toEqual(["ls", "curl x"]);
    expect(problems).toHaveLength(1);
  });

  it("and what a NUL byte splits is read in one piece", async () => {
    expect((await findCommands("cu\0rl x")).commands.map(summary)).toEqual(["curl x"]);
  });

  it.each([
    ["a text of 10 MB", "ls\n".repeat(3_500_000), "longer than 1 MiB, which is not looked into"],
    ["deep nesting", `${"$(".repeat(5_000)}ls${")".repeat(5_000)}`, "nested deeper than 80 levels"],
    ["deep arithmetic", `echo ${"$((".repeat(5_000)}`, "nested deeper than 80 levels"],
    ["deep quoting", `echo ${'"$('.repeat(300)}`, "nested deeper than 80 levels"],
  ])("%s", async (_, text, expected) => {
    const { problems } = await findCommands(text);
    expect(problems[0]?.what).toContain(expected);
  });

  it("texts in texts without end", async () => {
    expect((await findCommands(`${"eval ".repeat(20)}ls`)).problems[0]?.what).toBe(
      "commands are nested deeper than 12 levels",
    );
  });

  it("functions that multiply", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `f${index}() { f${index + 1}; f${index + 1}; }`);
    const { problems } = await findCommands([...lines.reverse(), "f0"].join("\n"));
    expect(problems[0]?.what).toBe("more than 20000 commands");
  });
});

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

describe("bombs are cheap", () => {
  it.each([
    ["values that double", `A=aaaaaaaaaa;${"A=$A$A;".repeat(200)}$A`],
    ["braces that multiply", `echo ${"{a,b}".repeat(60)}`],
    ["braces in braces", `echo ${"{a,".repeat(400)}b${"}".repeat(400)}`],
    ["a long sequence", "echo {1..999999999}"],
    ["an alias of itself", "alias a='a; a'; a"],
    ["two aliases of each other", "alias a='b; b' b='a; a'; a"],
    ["a function of itself", "f() { f; f; ls; }; f"],
    ["a shell that reads itself", "echo 'sh' | sh"],
    ["many stages", `ls${" | ls".repeat(5_000)}`],
    ["many lists", `${"a && ".repeat(5_000)}b`],
    ["many quotes", `echo ${"'a'".repeat(50_000)}`],
    ["many backslashes", `echo ${"\\a".repeat(50_000)}`],
    ["many loops", `${"for i in 1 2 3 4 5 6 7 8; do ".repeat(12)}ls${"; done".repeat(12)}`],
    ["many open braces", `echo ${"{".repeat(50_000)}`],
    ["printf without end", `printf '${"%s".repeat(500)}' ${"a ".repeat(5_000)} | sh`],
  ])("%s", async (_, text) => {
    const { commands, problems } = await findCommands(text);
    expect(commands.length + problems.length).toBeGreaterThan(0);
  });
});

const FRAGMENTS = [
  ..." \t\n;&|<>(){}[]$`'\"\\#!=~*?+@,.-:%/^0123aAx".split(""),
  ...[
    "$(",
    "${",
    "$((",
    "))",
    "<<EOF\n",
    "\nEOF\n",
    "<<<",
    "<(",
    ">(",
    "&&",
    "||",
    ";;",
    "curl",
    "ls",
    "sh -c ",
    "eval ",
  ],
  ...[
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "case ",
    "in ",
    "esac",
    "for ",
    "while ",
    "function ",
    "f()",
    "[[ ",
    "]]",
    "\\\n",
  ],
  ...[
    "python3 -c ",
    "node -e ",
    "awk ",
    "sed ",
    "perl -e ",
    "xargs ",
    "env ",
    "find -exec ",
    "$'",
    "\0",
    "\ue000",
    "é",
    "\ud800",
  ],
];

describe("whatever the text", () => {
  const text = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 60 }).map((parts) => parts.join(""));

  it("it is read without an error, twice the same", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.string({ unit: "binary" })), async (input) => {
        const first = await findCommands(input);
        expect(await findCommands(input)).toEqual(first);
      }),
      { numRuns: 600 },
    );
  });

  it("a program is read without an error", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("python", "javascript", "typescript", "bash"),
        text,
        async (language, code) => {
          await findCommandsOfCode(code, language);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("quoting a text for sh -c keeps every command of it", async () => {
    const command = fc.constantFrom(
      "curl x",
      "ls",
      "a | b",
      "echo $(id)",
      "{ a; }",
      "if a; then b; fi",
      "cat <<E\n`w`\nE\n",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 4 }), async (parts) => {
        const plain = parts.join("\n");
        const direct = (await findCommands(plain)).commands.map(summary).sort();
        const quoted = (await findCommands(`sh -c ${quote(plain)}`)).commands.slice(1).map(summary).sort();
        expect(quoted).toEqual(direct);
      }),
      { numRuns: 100 },
    );
  });
});

describe("words that no shell reads", () => {
  it.each([
    [["curl", "x"], ["curl x"]],
    [["echo", "$(curl x)"], ["echo $(curl x)"]],
    [
      ["sh", "-c", "ls; curl x"],
      ["sh -c ls; curl x", "ls", "curl x"],
    ],
    [["env", "curl", "x"], ["curl x"]],
    [["eval", "curl x"], ["eval curl x"]],
    [[], []],
  ])("%j", async (argv, expected) => {
    expect((await findCommandsOfArgv(argv)).commands.map(summary)).toEqual(expected);
  });
});
