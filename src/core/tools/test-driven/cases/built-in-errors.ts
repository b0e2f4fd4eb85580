import type { TestLanguage } from "../report.js";

/** Python's own exceptions below each class; what is not named here is none of them. */
const PYTHON: Readonly<Record<string, string>> = {
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
};

/** The same of JavaScript. */
const JAVASCRIPT: Readonly<Record<string, string>> = {
  Error: "AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError",
};

/** The classes that a built-in exception is derived from, nearest first; undefined: it is not built in. */
export function builtInAncestors(name: string, language: TestLanguage): readonly string[] | undefined {
  const tree = language === "python" ? PYTHON : JAVASCRIPT;
  const ancestors: string[] = [];
  for (let at = parentOf(tree, name); at !== undefined; at = parentOf(tree, at)) ancestors.push(at);
  return ancestors.length > 0 || Object.hasOwn(tree, name) ? ancestors : undefined;
}

function parentOf(tree: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.keys(tree).find((parent) => tree[parent]!.split(" ").includes(name));
}
