"""What was compared, for tests without pytest: bare asserts are rewritten, unittest's own methods are watched."""

import ast
import unittest

__unittest = True  # unittest leaves frames of such modules out

COMPARING = {
    "assertEqual": "==", "assertListEqual": "==", "assertTupleEqual": "==", "assertDictEqual": "==", "assertSetEqual": "==",
    "assertSequenceEqual": "==", "assertMultiLineEqual": "==", "assertCountEqual": "==", "assertAlmostEqual": "==",
    "assertNotEqual": "!=", "assertIs": "is", "assertIsNot": "is not", "assertIn": "in", "assertNotIn": "not in",
    "assertGreater": ">", "assertGreaterEqual": ">=", "assertLess": "<", "assertLessEqual": "<=", "assertIsInstance": "is a",
}
OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not",
    ast.In: "in", ast.NotIn: "not in",
}


def watch_unittest():
    for name, op in COMPARING.items():
        setattr(unittest.TestCase, name, watched(getattr(unittest.TestCase, name), op))
    for name in ("_callSetUp", "_callTestMethod", "_callTearDown", "_callCleanup"):
        if hasattr(unittest.TestCase, name):
            setattr(unittest.TestCase, name, uninterrupted(getattr(unittest.TestCase, name)))


def watched(method, op):
    def compare(self, first, second, *args, **keywords):
        __tracebackhide__ = True
        try:
            return method(self, first, second, *args, **keywords)
        except AssertionError as failure:
            if not hasattr(failure, "_skerry_compared"):
                failure._skerry_compared = compared_as(op, first, second)
            raise

    compare.__name__ = method.__name__
    compare.__doc__ = method.__doc__
    return compare


def uninterrupted(run):
    """The same, but for a KeyboardInterrupt of the solution's, which would end everything."""

    def method(*args, **keywords):
        __tracebackhide__ = True
        try:
            return run(*args, **keywords)
        except KeyboardInterrupt as error:
            if "_skerry_own" not in vars(error):
                raise
            raise set_apart(error)

    return method


class Rewriter(ast.NodeTransformer):
    """`assert a == b` keeps both values for the report; other asserts say what they asserted."""

    def __init__(self, source):
        self.source = source

    def visit_Assert(self, node):
        self.generic_visit(node)
        test = node.test
        text = ast.Constant(ast.get_source_segment(self.source, test) or "")
        message = node.msg or ast.Constant(None)
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in OPERATORS:
            left, right = ast.Name("@left", ast.Load()), ast.Name("@right", ast.Load())
            checked = ast.Compare(left, test.ops, [right])
            op = ast.Constant(OPERATORS[type(test.ops[0])])
            before = [assign("@left", test.left), assign("@right", test.comparators[0])]
            failure = call("__skerry_failed__", text, message, op, left, right)
        else:
            checked, before, failure = test, [], call("__skerry_failed__", text, message)
        raising = ast.Raise(failure, None)
        new = before + [ast.If(ast.UnaryOp(ast.Not(), checked), [raising], [])]
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in new]


def assign(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value)


def call(name, *args):
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def failed(text, message=None, op=None, left=None, right=None):
    """The failure of an assert."""
    if op is None:
        return AssertionError("assert %s" % text if message is None else str(message))
    there, wanted = shown(left), shown(right)
    said = "assert %s %s %s" % (there, op, wanted) if message is None else "%s\nassert %s %s %s" % (message, there, op, wanted)
    failure = AssertionError(said)
    failure._skerry_compared = compared_as(op, left, right)
    return failure
