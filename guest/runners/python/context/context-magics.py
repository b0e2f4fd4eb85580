"""`!command`, `%magic` and `%%magic`, as IPython has them. Only code that is no Python otherwise is looked through for them."""

import re
import shutil
import subprocess

MAGIC_LINE = re.compile(r"^(\s*)(?:([\w.,\s\[\]'\"*()]+?)\s*=\s*)?(!!?|%)(.*)$")


def rewrite_magics(lines, error, parse):
    """The lines, with calls in the place of magics, and what they parse to. Each error of syntax leads to the next one."""
    lines = list(lines)
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        name, _, rest = lines[first][2:].partition(" ")
        call = "get_ipython().run_cell_magic(%r, %r, %r)" % (name.strip(), rest.strip(), "\n".join(lines[first + 1 :]) + "\n")
        lines = [""] * first + [call]
        return lines, parse("\n".join(lines))
    while True:
        at = (error.lineno or 1) - 1
        # A mark within what looks like a text is found further down than where it begins.
        at = next((each for each in range(min(at, len(lines) - 1), -1, -1) if is_magic(lines[each])), None)
        if at is None:
            raise error from None
        rewrite_line(lines, at)
        try:
            return lines, parse("\n".join(lines))
        except SyntaxError as next_error:
            error = next_error


def is_magic(line):
    found = MAGIC_LINE.match(line)
    return found is not None and (found[3] != "%" or re.match(r"[A-Za-z_]", found[4]) is not None)


def rewrite_line(lines, at):
    indent, target, mark, text = MAGIC_LINE.match(lines[at]).groups()
    following = at + 1
    while text.endswith("\\") and following < len(lines):
        text = text[:-1] + lines[following]
        lines[following] = ""
        following += 1
    if mark == "%":
        name, _, rest = text.partition(" ")
        call = "run_line_magic(%r, %r)" % (name, rest.strip())
    else:
        call = "%s(%r)" % ("system" if target is None and mark == "!" else "getoutput", text.strip())
    lines[at] = "%s%sget_ipython().%s" % (indent, "" if target is None else target + " = ", call)


class Lines(list):
    """What a command printed, by lines."""

    @property
    def l(self):
        return list(self)

    @property
    def n(self):
        return "\n".join(self)

    @property
    def s(self):
        return " ".join(self)


def expand(command):
    """`{expression}` and `$name`, where that is one of the code's names; anything else stays for the shell."""

    def value(match):
        if match[1] is not None:
            return str(eval(match[1], main.__dict__))
        return str(main.__dict__[match[2]]) if match[2] in main.__dict__ else match[0]

    try:
        return re.sub(r"(?<!\$)\{([^{}]+)\}|\$([A-Za-z_]\w*)", value, command)
    except Exception:
        return command


class Shell:
    """What `get_ipython()` gives."""

    config = {}

    @property
    def user_ns(self):
        return main.__dict__

    def system(self, command):
        main.__dict__["_exit_code"] = self._run(shell_command(expand(command)))

    def getoutput(self, command):
        flush_output()
        done = subprocess.run(shell_command(expand(command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        main.__dict__["_exit_code"] = done.returncode
        return Lines(done.stdout.decode("utf-8", "replace").splitlines())

    def run_line_magic(self, name, line, *_):
        found = LINE_MAGICS.get(name)
        if found is None:
            raise NameError("there is no magic %%%s here; there are %s" % (name, ", ".join("%" + each for each in LINE_MAGICS)))
        return found(self, line)

    def run_cell_magic(self, name, line, cell):
        found = CELL_MAGICS.get(name)
        if found is None:
            raise NameError("there is no magic %%%%%s here; there are %s" % (name, ", ".join("%%" + each for each in CELL_MAGICS)))
        return found(self, line, cell)

    def magic(self, line):
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    def _run(self, command, environment=None, given=None):
        flush_output()
        return subprocess.run(command, env=environment, input=given).returncode

    def pip(self, line):
        environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_BREAK_SYSTEM_PACKAGES": "1"}
        # Without a way out pip would wait and try again for a long time before it says so.
        if not any(environment.get(name) for name in ("HTTPS_PROXY", "https_proxy", "PIP_PROXY")):
            environment.setdefault("PIP_RETRIES", "0")
        status = self._run(shell_command("exec %s -m pip %s" % (sys.executable, expand(line))), environment)
        import importlib
        import site

        importlib.invalidate_caches()
        if os.path.isdir(site.getusersitepackages()):
            site.addsitedir(site.getusersitepackages())
        main.__dict__["_exit_code"] = status

    def cd(self, line):
        os.chdir(os.path.expanduser(expand(line) or "~"))
        return self.pwd("")

    def pwd(self, line):
        return os.getcwd()

    def env(self, line):
        name, is_set, value = re.match(r"(\S*?)(?:(\s*=\s*|\s+)(.*))?$", line).groups()
        if is_set is None:
            return os.environ.get(name) if name else dict(os.environ)
        os.environ[name] = expand(value)

    def nothing(self, line):
        """Settings of a notebook that have no meaning here."""

    def time(self, line, cell=None):
        began, used = time.perf_counter(), time.process_time()
        code = Cell(cell if cell is not None else line, "%s, timed" % display.run)
        try:
            return code.run(main.__dict__)
        finally:
            print("CPU times: %.3g s\nWall time: %.3g s" % (time.process_time() - used, time.perf_counter() - began))

    def timeit(self, line, cell=None):
        import timeit

        options = re.match(r"((?:-[nr]\s*\d+\s+)*)(.*)$", line + " " if cell is not None else line, re.S)
        chosen = dict(re.findall(r"-([nr])\s*(\d+)", options[1]))
        timer = timeit.Timer(cell if cell is not None else options[2], globals=main.__dict__)
        number = int(chosen["n"]) if "n" in chosen else timer.autorange()[0]
        best = [each / number for each in timer.repeat(int(chosen.get("r", 5)), number)]
        print("%.3g s per loop (best %.3g s; %d runs, %d loops each)" % (sum(best) / len(best), min(best), len(best), number))

    def shell_cell(self, line, cell):
        status = self._run([shutil.which("bash") or "sh", "-s"] if not line else shell_command("bash -s " + line), given=cell.encode())
        if status != 0:
            raise subprocess.CalledProcessError(status, "bash")

    def writefile(self, line, cell):
        appends = re.match(r"(?:-a|--append)\s+", line)
        path = os.path.expanduser(expand(line[appends.end() if appends else 0 :]).strip("'\""))
        verb = "Appending to" if appends else "Overwriting" if os.path.exists(path) else "Writing"
        with open(path, "a" if appends else "w", encoding="utf-8") as file:
            file.write(cell)
        print("%s %s" % (verb, path))


def shell_command(command):
    return [shutil.which("bash") or "sh", "-c", command]


def form(kind):
    return lambda shell, line, cell: display_values({kind: cell}, raw=True)


LINE_MAGICS = {
    "pip": Shell.pip, "cd": Shell.cd, "pwd": Shell.pwd, "env": Shell.env, "set_env": Shell.env, "time": Shell.time, "timeit": Shell.timeit,
    **dict.fromkeys(("matplotlib", "load_ext", "reload_ext", "autoreload", "config", "precision", "pylab"), Shell.nothing),
    **{name: (lambda shell, line, name=name: shell.system("%s %s" % (name, line))) for name in ("ls", "cat", "mkdir", "rm", "cp", "mv")},
    "sx": Shell.getoutput, "system": Shell.getoutput,
}  # fmt: skip
CELL_MAGICS = {
    "bash": Shell.shell_cell, "sh": Shell.shell_cell, "time": Shell.time, "timeit": Shell.timeit, "writefile": Shell.writefile,
    "html": form("text/html"), "markdown": form("text/markdown"), "latex": form("text/latex"), "svg": form("image/svg+xml"),
    "javascript": form("application/javascript"), "js": form("application/javascript"),
}  # fmt: skip
SHELL = Shell()
