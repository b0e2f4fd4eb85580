"""What both sides have: the standard library, by module and name."""

import importlib
import sys
import types

# Whose exceptions are the same class on both sides. None of these runs tests, or means anything to what does.
OF_ERRORS = frozenset(
    ("_csv _queue argparse array asyncio.exceptions asyncio.locks asyncio.queues binascii calendar cmd codecs concurrent.futures._base "
     "concurrent.futures.process concurrent.futures.thread configparser copy csv ctypes dataclasses decimal email.errors fractions ftplib "
     "getopt getpass graphlib gzip html.parser http.client http.cookies imaplib inspect ipaddress json json.decoder locale lzma mailbox "
     "multiprocessing.context netrc optparse pickle _pickle platform plistlib queue quopri re re._constants sre_constants selectors shelve "
     "shutil signal smtplib socket sqlite3 ssl statistics struct subprocess tarfile threading tokenize tomllib tomllib._parser "
     "urllib.error uuid wave xml.dom xml.etree.ElementTree xml.parsers.expat xml.sax._exceptions zipfile zipimport zlib zoneinfo "
     "zoneinfo._common").split()
)

STANDARD = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType)


def standard_name(value):
    """Module and name of what the standard library has; None: it is of another module."""
    if isinstance(value, types.ModuleType):
        return (value.__name__, "") if is_standard(value.__name__) and sys.modules.get(value.__name__) is value else None
    if not isinstance(value, STANDARD):
        return None
    owner = getattr(value, "__objclass__", value)
    module, name = getattr(owner, "__module__", None), getattr(value, "__qualname__", None)
    if type(module) is not str or type(name) is not str or not is_standard(module):
        return None
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def find_standard(module, name):
    """This side's own; None: there is none."""
    if not is_standard(module):
        return None
    try:
        found = importlib.import_module(module)
        for part in name.split(".") if name else ():
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, STANDARD + (types.ModuleType,)) else None


def error_name(cls):
    """Module and name of an exception of the standard library that is the same class on both sides; None: it is another."""
    module, name = getattr(cls, "__module__", None), getattr(cls, "__qualname__", None)
    if type(module) is not str or type(name) is not str or module not in OF_ERRORS or not issubclass(cls, BaseException):
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is cls else None


def find_error(module, name):
    """This side's own class of that name; None: there is none."""
    if module not in OF_ERRORS or not name.isidentifier():
        return None
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    return found if isinstance(found, type) and issubclass(found, BaseException) and found.__module__ in OF_ERRORS else None


def is_standard(module):
    top = module.partition(".")[0]
    names = getattr(sys, "stdlib_module_names", ("math", "operator", "datetime", "collections", "functools", "itertools", "re", "random"))
    return top == "builtins" or top in names and top not in ("__main__", "this", "antigravity")
