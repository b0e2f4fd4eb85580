"""Further types that cross by value: what each is made of, and how it is made again. Nothing else is ever made."""

import collections
import datetime
import decimal
import fractions
import pathlib
import re
import sys

PLAIN = (int, float, complex, str, bytes, tuple, frozenset)


def base_value(value, kind):
    """The plain value inside an instance of a subclass, read with the plain type's own methods."""
    if kind is int:
        return int.__index__(value)
    if kind is float:
        return float.__float__(value)
    if kind is complex:
        return complex(kind.real.__get__(value), kind.imag.__get__(value))
    return kind(kind.__iter__(value))


def whole(cls):
    """Accepts numbers that are ints, and nothing that only acts like one."""

    def make(*parts):
        if any(type(part) is not int for part in parts):
            raise TypeError("no number")
        return cls(*parts)

    return make


def of_text(cls):
    def make(text):
        if type(text) is not str:
            raise TypeError("no text")
        return cls(text)

    return make


def clock(value):
    """A time's parts; its zone as the offset from UTC, in microseconds."""
    offset = None if value.tzinfo is None else value.utcoffset()
    zone = None if offset is None else offset // datetime.timedelta(microseconds=1)
    return [value.hour, value.minute, value.second, value.microsecond, value.fold, zone]


def zone_of(zone):
    return None if zone is None else datetime.timezone(datetime.timedelta(microseconds=zone))


def make_datetime(year, month, day, hour, minute, second, micro, fold, zone):
    return datetime.datetime(year, month, day, hour, minute, second, micro, zone_of(zone), fold=fold)


def make_time(hour, minute, second, micro, fold, zone):
    return datetime.time(hour, minute, second, micro, zone_of(zone), fold=fold)


def make_counter(items):
    counter = collections.Counter()
    dict.update(counter, checked(items, dict))
    return counter


FACTORIES = (int, float, str, list, dict, set, tuple, bool)


def factory_of(value):
    """What makes the missing values, where both sides have it."""
    return next((each for each in FACTORIES if each is value.default_factory), None)


def make_default(factory, items):
    if factory is not None and not any(each is factory for each in FACTORIES):
        raise TypeError("no factory")
    return collections.defaultdict(factory, checked(items, dict))


def checked(value, kind):
    if type(value) is not kind:
        raise TypeError("no %s" % kind.__name__)
    return value


def items_of(value):
    return dict(dict.items(value))


KINDS = {
    "ellipsis": (type(...), lambda value: [], lambda: ...),
    "not implemented": (type(NotImplemented), lambda value: [], lambda: NotImplemented),
    "range": (range, lambda value: [value.start, value.stop, value.step], whole(range)),
    "slice": (slice, lambda value: [value.start, value.stop, value.step], lambda *parts: slice(*parts)),
    "date": (datetime.date, lambda value: [value.year, value.month, value.day], whole(datetime.date)),
    "datetime": (datetime.datetime, lambda value: [value.year, value.month, value.day] + clock(value), make_datetime),
    "time": (datetime.time, clock, make_time),
    "timedelta": (
        datetime.timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        whole(datetime.timedelta),
    ),
    "timezone": (
        datetime.timezone,
        lambda value: [value.utcoffset(None) // datetime.timedelta(microseconds=1)],
        whole(zone_of),
    ),
    "decimal": (decimal.Decimal, lambda value: [str(value)], of_text(decimal.Decimal)),
    "fraction": (fractions.Fraction, lambda value: [value.numerator, value.denominator], whole(fractions.Fraction)),
    "path": (pathlib.PosixPath, lambda value: [str(value)], of_text(pathlib.Path)),
    "pure path": (pathlib.PurePosixPath, lambda value: [str(value)], of_text(pathlib.PurePosixPath)),
    "ordered": (
        collections.OrderedDict,
        lambda value: [items_of(value)],
        lambda items: collections.OrderedDict(checked(items, dict)),
    ),
    "counter": (collections.Counter, lambda value: [items_of(value)], make_counter),
    "default": (
        collections.defaultdict,
        lambda value: [factory_of(value), items_of(value)],
        make_default,
    ),
    "deque": (
        collections.deque,
        lambda value: [list(value), value.maxlen],
        lambda items, size: collections.deque(checked(items, list), size),
    ),
    "keys": (type({}.keys()), lambda value: [list(value)], lambda items: dict.fromkeys(checked(items, list)).keys()),
    "values": (type({}.values()), lambda value: [list(value)], lambda items: dict(enumerate(checked(items, list))).values()),
    "items": (
        type({}.items()),
        lambda value: [[list(pair) for pair in value]],
        lambda items: dict([tuple(checked(pair, list)) for pair in checked(items, list)]).items(),
    ),
}
KIND_NAMES = {kind: name for name, (kind, _, _) in KINDS.items()}
# Instances of their subclasses cross as they themselves do; the more special come first.
BY_KIND = (
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction,
    pathlib.PosixPath, pathlib.PurePosixPath,
)
