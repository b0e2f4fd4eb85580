import type { TestingLanguage } from "../language.js";

export const PYTHON_TESTS: TestingLanguage = {
  runner: "pytest",
  moduleName: /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
  testsName: (module) => `test_${module}.py`,
  solution: (runtime, program, module) => [
    "python3",
    `${runtime}/python/split-tests/split-solution.py`,
    program,
    module,
  ],
  // Isolated: nothing of the environment or of a user's packages has a say in how tests run.
  tests: (runtime, program, module, runner) => [
    "python3",
    "-I",
    `${runtime}/python/split-tests/split-tests.py`,
    program,
    module,
    runner,
  ],
  together: (runtime, program, tests, runner) => [
    "python3",
    `${runtime}/python/tests/together-tests.py`,
    program,
    tests,
    runner,
  ],
  cases: (runtime, program, module) => [
    "python3",
    `${runtime}/python/cases/cases-python.py`,
    program,
    module,
  ],
  hasKeywords: true,
  values: {
    null: "None",
    true: "True",
    false: "False",
    nan: "nan",
    inf: "inf",
    wholeFloat: ".0",
    tupleOfOne: ",",
    tuple: ["(", ")"],
    set: ["{", "}"],
    emptySet: "set()",
    bytes: (bytes) => `b${JSON.stringify(bytes.toString("latin1"))}`,
  },
  exceptions: {
    BaseException: "BaseExceptionGroup Exception GeneratorExit KeyboardInterrupt SystemExit",
    Exception:
      "ArithmeticError AssertionError AttributeError BufferError EOFError ExceptionGroup ImportError LookupError MemoryError NameError OSError ReferenceError RuntimeError StopAsyncIteration StopIteration SyntaxError SystemError TypeError ValueError Warning",
    ArithmeticError: "FloatingPointError OverflowError ZeroDivisionError",
    ImportError: "ModuleNotFoundError",
    LookupError: "IndexError KeyError",
    NameError: "UnboundLocalError",
    OSError:
      "BlockingIOError ChildProcessError ConnectionError FileExistsError FileNotFoundError InterruptedError IsADirectoryError NotADirectoryError PermissionError ProcessLookupError TimeoutError",
    ConnectionError: "BrokenPipeError ConnectionAbortedError ConnectionRefusedError ConnectionResetError",
    RuntimeError: "NotImplementedError PythonFinalizationError RecursionError",
    SyntaxError: "IndentationError",
    IndentationError: "TabError",
    ValueError: "UnicodeError",
    UnicodeError: "UnicodeDecodeError UnicodeEncodeError UnicodeTranslateError",
    Warning:
      "BytesWarning DeprecationWarning EncodingWarning FutureWarning ImportWarning PendingDeprecationWarning ResourceWarning RuntimeWarning SyntaxWarning UnicodeWarning UserWarning",
  },
};
