"""What may be asked of a side. Each takes the guard first, which says whether it may be done to that object."""

import copy


def on_call(guard, target, args, keywords):
    guard.check_call(target)
    return target(*args, **dict(keywords))


def on_get(guard, target, name):
    return guard.get(target, name)


def on_set(guard, target, name, value):
    guard.set(target, name, value)


def on_delete(guard, target, name):
    guard.delete(target, name)


def on_special(guard, target, name, args):
    guard.check_special(target, name)
    if name == "__getitem__" and isinstance(target, type):
        return target[args[0]]
    return getattr(type(target), name)(target, *args)


def on_hash(guard, target):
    return hash(target)


def on_repr(guard, target):
    return cut(repr(target))


def on_str(guard, target):
    return str.__str__(str(target))


def on_format(guard, target, spec):
    return str.__str__(format(target, spec))


def on_dir(guard, target):
    return guard.names(target)


def on_star(guard, target):
    """The names that `import *` would take from a module, and of each whether it is the standard library's."""
    guard.check_copy(target)
    space = vars(target)
    names = space.get("__all__") or [name for name in space if not name.startswith("_")]
    return [(name, standard_name(space.get(name)) is not None) for name in names]


def on_copy(guard, target, is_deep):
    guard.check_copy(target)
    return copy.deepcopy(target) if is_deep else copy.copy(target)


def on_value(guard, target):
    """The value of an instance of a mutable plain type's subclass, as the plain type has it."""
    guard.check_copy(target)
    if isinstance(target, bytearray):
        return bytearray(target)
    if isinstance(target, dict):
        return dict(dict.items(target))
    kind = next(each for each in (list, set) if isinstance(target, each))
    return kind(kind.__iter__(target))


def on_signature(guard, target):
    import inspect

    guard.check_copy(target)
    empty = inspect.Parameter.empty
    return [
        (each.name, int(each.kind), () if each.default is empty else (each.default,), () if each.annotation is empty else (each.annotation,))
        for each in inspect.signature(target).parameters.values()
    ]


def on_await(guard, target):
    return SIDE.loops.run(target)


def on_cancel(guard, target):
    SIDE.loops.cancel(target)


def on_describe(guard, number):
    known = SIDE.own.get(number)
    if known is None or not isinstance(known[0], type):
        SIDE.link.broken("a reference to nothing")
    return guard.describe(known[0])


def on_input(guard, prompt):
    return guard.input(prompt)


def on_stdin(guard, name, size):
    return guard.stdin(name, size)


OPERATIONS = {
    "call": on_call, "get": on_get, "set": on_set, "delete": on_delete, "special": on_special, "hash": on_hash,
    "repr": on_repr, "str": on_str, "format": on_format, "dir": on_dir, "star": on_star, "copy": on_copy, "value": on_value,
    "signature": on_signature, "await": on_await, "cancel": on_cancel, "describe": on_describe, "input": on_input,
    "stdin": on_stdin,
}
