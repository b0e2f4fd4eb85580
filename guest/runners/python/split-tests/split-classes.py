"""Classes of the other side, from what it says of them. Nothing is believed but names out of fixed lists."""

import dataclasses

PLAIN_NAMES = {each.__name__: each for each in PLAIN + (list, dict, set, bytearray)}
SHOWN = {"__str__": "str", "__repr__": "repr", "__format__": "format"}
# What only looks at a list, a dictionary or a set is done here, with the value that the other side says it has.
READING = {
    list: "__len__ __iter__ __contains__ __getitem__ __reversed__ count index",
    dict: "__len__ __iter__ __contains__ __getitem__ __reversed__ get keys values items",
    set: "__len__ __iter__ __contains__ isdisjoint issubset issuperset union intersection difference symmetric_difference",
    bytearray: "__len__ __iter__ __contains__ __getitem__ count index find decode hex startswith endswith",
}
READING = {kind: names.split() for kind, names in READING.items()}


def describe_class(cls, with_bases):
    """What the other side needs to know of a class of ours."""
    plain = next((each for each in PLAIN + (list, dict, set, bytearray) if issubclass(cls, each)), None)
    is_error = issubclass(cls, BaseException)
    own = [each for each in cls.__mro__ if plain is None or not issubclass(plain, each)]
    names = {name for each in own for name in vars(each)} if plain in PLAIN else ()
    return [
        short(cls.__name__),
        short(cls.__qualname__),
        short(cls.__module__),
        [each for each in cls.__bases__ if with_bases or is_error and issubclass(each, BaseException)],
        [name for name in sorted(SPECIALS) if getattr(cls, name, None) is not None and name not in vars(object)],
        None if plain is None else plain.__name__,
        [name for name in sorted(names) if name in SHOWN],
        [each.name for each in dataclasses.fields(cls)] if with_bases and dataclasses.is_dataclass(cls) else [],
        cls.__doc__[:10_000] if with_bases and type(cls.__doc__) is str else None,
    ]


def stand_in(number, description):
    """The class that stands in for one of the other side's."""
    try:
        name, qualname, module, bases, specials, plain, overrides, fields, doc = description
        check_texts([name, qualname, module, *specials, *overrides, *fields])
        if any(not isinstance(each, type) for each in bases) or not (doc is None or type(doc) is str):
            raise Broken("a class that is none")
        space = {"_skerry_number": number, "__module__": module, "__qualname__": qualname, "__doc__": doc}
        if fields:
            space["__dataclass_fields__"] = dataclasses.make_dataclass("Fields", fields).__dataclass_fields__
        return RemoteType(name, parents(bases, plain, specials, overrides, space), space)
    except (TypeError, ValueError, KeyError) as problem:
        raise Broken("a class that is none (%s)" % problem)


def parents(bases, plain, specials, overrides, space):
    """What it is derived from here: classes that stand in for its own, or what they all have."""
    errors = [each for each in bases if issubclass(each, BaseException)]
    if errors:
        return tuple(errors if any(issubclass(each, RemoteError) for each in errors) else [RemoteError, *errors])
    kind = None if plain is None else PLAIN_NAMES[plain]
    space["_skerry_plain"] = kind
    if kind in PLAIN:
        space.update({each: METHODS[each] for each in specials if each in SPECIALS - OF_PLAIN and each not in dir(kind)})
        space.update({each: shown_by(each) for each in overrides if each in SHOWN})
        known = [each for each in bases if issubclass(each, Valued)]
        return tuple(known or [Valued, kind])
    space["__slots__"] = ()
    space.update({each: METHODS[each] for each in specials if each in SPECIALS})
    if kind is not None:
        space.update({each: read_by(kind, each) for each in READING[kind]})
    return tuple([each for each in bases if issubclass(each, Reference)] or [Reference])


def read_by(kind, name):
    def method(self, *args):
        __tracebackhide__ = True
        return getattr(kind, name)(SIDE.expect(kind, "value", self), *args)

    return method


def shown_by(name):
    return lambda self, *args: SIDE.expect(str, SHOWN[name], self, *args)


def check_texts(texts):
    if any(type(each) is not str or len(each) > 200 for each in texts) or len(texts) > 5000:
        raise Broken("a class that is none")
