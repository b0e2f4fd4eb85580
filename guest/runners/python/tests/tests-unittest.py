"""Runs tests with unittest: test cases, and functions and classes as pytest would find them."""

import importlib.util
import inspect
import types

UNITTEST = os.path.dirname(unittest.__file__) + "/"
HIDDEN.append(UNITTEST)


def run_unittest(path, report):
    report.runner("unittest")
    watch_unittest()
    try:
        module = load_tests_file(path)
        check_module(module)
        tests = list(flatten(unittest.defaultTestLoader.loadTestsFromModule(module))) + list(functions_of(module))
    except BaseException as error:
        return report.broken(os.path.basename(path), error)
    result = Result(report, dict(zip([id(test) for test in tests], report.found([name_of(test, module) for test in tests]))))
    unittest.TestSuite(tests).run(result)


def load_tests_file(path):
    name = os.path.basename(path)[: -len(".py")]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    tree = Rewriter(source).visit(ast.parse(source, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path))
    module.__dict__["__skerry_failed__"] = failed
    sys.modules[name] = module
    exec(compile(tree, path, "exec"), module.__dict__)
    return module


def flatten(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flatten(each)
        else:
            yield each


def functions_of(module):
    """Test functions, and the methods of test classes that are no test cases."""
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and name.startswith("test"):
            yield FunctionTest(name, value)
        elif isinstance(value, type) and not isinstance(value, RemoteType) and name.startswith("Test"):
            if not issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
                for method in [each for each in vars(value) if each.startswith("test")]:
                    yield FunctionTest("%s.%s" % (name, method), vars(value)[method], value)


class FunctionTest(unittest.TestCase):
    """A function that is a test, or a method of a class that is none of unittest's."""

    def __init__(self, name, function, cls=None):
        super().__init__("run_function")
        self.name, self.function, self.cls = name, function, cls

    def id(self):
        return self.name

    def setUp(self):
        if not isinstance(self.function, types.FunctionType):
            raise TypeError("%s is no function" % self.name)
        needed = [each.name for each in inspect.signature(self.function).parameters.values() if each.default is each.empty]
        if needed[0 if self.cls is None else 1 :]:
            raise LookupError("%s needs the fixture %s, which takes pytest: this sandbox has none" % (self.name, needed[-1]))

    def run_function(self):
        made = self.function(*([] if self.cls is None else [self.cls()]))
        if inspect.iscoroutine(made):
            import asyncio

            asyncio.run(made)


def name_of(test, module):
    name = test.id()
    prefix = module.__name__ + "."
    return name[len(prefix) :] if name.startswith(prefix) else name


class Result(unittest.TestResult):
    """Tells of each test as it ends."""

    def __init__(self, report, numbers):
        super().__init__()
        self.report, self.numbers = report, numbers
        self.outcome = None
        self.began = 0

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.began = None, time.monotonic()
        self.report.started(self.numbers[id(test)])

    def stopTest(self, test):
        super().stopTest(test)
        status, problem = self.outcome or ("passed", None)
        self.report.ended(self.numbers[id(test)], status, time.monotonic() - self.began, problem)
        self.outcome = None

    def addFailure(self, test, error):
        self.outcome = ("failed", problem_of(error[1]))

    def addError(self, test, error):
        if id(test) not in self.numbers:
            # Of a class or a module: its tests never start.
            (number,) = self.report.found([str(test)])
            return self.report.ended(number, "error", 0, problem_of(error[1]))
        status = "failed" if was_in_test(error[2]) else "error"
        if self.outcome is None or self.outcome[0] != "failed":
            self.outcome = (status, problem_of(error[1]))

    def addSubTest(self, test, subtest, error):
        if error is not None and self.outcome is None:
            problem = problem_of(error[1])
            problem["message"] = "%s: %s" % (subtest._subDescription(), problem["message"])
            self.outcome = ("failed", problem)

    def addSkip(self, test, reason):
        if id(test) in self.numbers:
            self.outcome = ("skipped", {"message": cut(str(reason))})

    def addExpectedFailure(self, test, error):
        self.outcome = ("skipped", {"message": "expected to fail: %s" % text_of(error[1])})

    def addUnexpectedSuccess(self, test):
        self.outcome = ("failed", {"message": "It was expected to fail, and passed"})


def was_in_test(trace):
    """True: the test's own method raised it, not what prepares or tidies up."""
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "_callTestMethod" and trace.tb_frame.f_code.co_filename.startswith(UNITTEST):
            return True
        trace = trace.tb_next
    return False
