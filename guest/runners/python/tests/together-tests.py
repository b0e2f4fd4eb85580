"""Runs tests and their solution in one process: `python3 together-tests.py SOLUTION TESTS RUNNER`, a socket to the
host on descriptor 3. The solution can do anything to the tests here, and say anything to the host. See guest/runners/README.md.
"""

import importlib.util
import os
import sys

PARTS = ["split-tests/split-%s" % part for part in ("wire", "kinds", "arrays", "values", "objects", "errors")]
PARTS += ["tests/tests-%s" % part for part in ("report", "asserts", "unittest", "pytest")]
for part in PARTS:
    with open("%s/%s.py" % (os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))), part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))



def check_module(module):
    """Nothing keeps the solution from acting as the runner here."""


SOLUTION, tests, runner = sys.argv[1:]
MODULE = os.path.basename(SOLUTION)[: -len(".py")]
path = os.path.join(os.path.dirname(SOLUTION), tests)
sys.argv = [path]
sys.path[0] = os.path.dirname(SOLUTION)
sys.dont_write_bytecode = True
link = Link(3, None, None, None, None, 0)
try:
    with open(SOLUTION, "rb") as source:
        compile(source.read(), SOLUTION, "exec")
except (SyntaxError, ValueError) as error:
    message = cut("%s: %s" % (type(error).__name__, text_of(error)))
    link.tell({"type": "failed", "kind": "syntax", "message": message, "traceback": traceback_text(error)})
    os._exit(1)
report = Report(link.tell)
if runner == "auto" and importlib.util.find_spec("pytest") is not None:
    run_pytest(path, report)
else:
    run_unittest(path, report)
report.end()
for stream in (sys.stdout, sys.stderr):
    stream.flush()
os._exit(1 if report.has_failed or report.count == 0 else 0)
