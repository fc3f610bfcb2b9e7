"""Typed access to the keys of a config.json, wherever its format puts them; every refusal names file, key, found and expected."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from domino_jax.errors import InputError

_ABSENT = object()
LARGEST = 2**31 - 1  # whatever a config.json counts, an array of ours has fewer
LARGEST_FLOAT = float.fromhex("0x1.fffffep127")  # in float32, in which all of them are computed with
LONGEST = 500  # characters of a value that a message repeats


def read_json(path: Path) -> dict:
    """The JSON object in `path`. Raises InputError for a missing, unreadable or malformed file."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for, a device may never end
            raise InputError(f"{path}: is no file, expected a JSON object")
        raw = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_object)
    except FileNotFoundError:
        raise InputError(f"{path}: the file is missing, expected a JSON object") from None
    except InputError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected a JSON object") from None
    except (ValueError, RecursionError) as error:  # malformed, a number of thousands of digits, nested without end
        raise InputError(f"{path}: not valid JSON ({error}), expected a JSON object") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: holds a {type(raw).__name__}, expected a JSON object")
    return raw


def _object(pairs: list[tuple[str, object]]) -> dict:
    """Raises ValueError where a key has two values: which one a reader takes is anyone's guess."""
    raw: dict[str, object] = {}
    for key, value in pairs:
        if key in raw and (raw[key] != value or type(raw[key]) is not type(value)):
            raise ValueError(f"{said(key)} is {said(raw[key])} and {said(value)} in one object")
        raw[key] = value
    return raw


def said(value: object) -> str:
    """A value as messages repeat it: JSON, cut where it is long."""
    try:
        text = json.dumps(value)
    except RecursionError:  # the reader may have had more room than is left here
        text = f"a {type(value).__name__} nested without end"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def at_top_level(key: str) -> tuple[str, ...]:
    return (key,)


class Fields:
    """The keys of one JSON object.

    `places` says where a key may stand: dotted paths, under this name or others. Found in two places it must have one value.
    `readings` turn what a format stores into what we mean by the key.
    """

    def __init__(
        self,
        raw: dict,
        where: str,
        places: Callable[[str], tuple[str, ...]] = at_top_level,
        readings: Mapping[str, Callable[[object], object]] | None = None,
    ):
        self.raw, self.where, self.places, self.readings = raw, where, places, readings or {}

    def refuse(self, key: str, found: object, expected: str) -> InputError:
        return InputError(f"{self.where}: {key} is {said(found)}, expected {expected}")

    def found(self, key: str) -> dict[str, object]:
        """Place -> value, as stored; JSON null counts as absent."""
        values = {}
        for place in self.places(key):
            level: object = self.raw
            for name in place.split("."):
                level = level.get(name) if isinstance(level, dict) else None
            if level is not None:
                values[place] = level
        return values

    def get(self, key: str, default: object = _ABSENT) -> object:
        found = self.found(key)
        if not found:
            if default is not _ABSENT:
                return default
            raise InputError(f"{self.where}: {_said(self.places(key))} is missing, expected {_at(self.places(key))}")
        (place, value), *others = found.items()
        for other, theirs in others:
            if theirs != value or type(theirs) is not type(value):
                again = "" if _named(other) == _named(place) else f"{_named(other)} is "
                raise InputError(
                    f"{self.where}: {_named(place)} is {said(value)} {_at([place])} and {again}{said(theirs)} {_at([other])}, "
                    "expected one value"
                )
        return self.readings[key](value) if key in self.readings else value

    def name(self, key: str) -> str:
        """What this file calls `key`."""
        return _named(next(iter(self.found(key)), key))

    def integer(self, key: str, low: int = 1, high: int | None = None, default: object = _ABSENT) -> int:
        value = self.get(key, default)
        if value is None:
            return value
        if type(value) is not int or not low <= value <= (LARGEST if high is None else high):
            too_large = type(value) is int and value > LARGEST
            expected = f"an integer of at least {low}" if high is None and not too_large else f"an integer from {low} to {high or LARGEST}"
            raise self.refuse(self.name(key), value, expected)
        return value

    def number(self, key: str, default: object = _ABSENT) -> float:
        value = self.get(key, default)
        if value is None:
            return value
        if type(value) not in (int, float) or not 0 < value <= LARGEST_FLOAT:
            too_large = type(value) in (int, float) and value > LARGEST_FLOAT
            raise self.refuse(self.name(key), value, "a positive number" + " that float32 holds" * too_large)
        return float(value)

    def text(self, key: str) -> str:
        value = self.get(key)
        if type(value) is not str:
            raise self.refuse(self.name(key), value, "a text")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self.get(key, default)
        if type(value) is not bool:
            raise self.refuse(self.name(key), value, "true or false")
        return value


def _named(place: str) -> str:
    return place.rpartition(".")[2]


def _said(places) -> str:
    return " or ".join(dict.fromkeys(map(_named, places)))


def _at(places) -> str:
    levels = dict.fromkeys(place.rpartition(".")[0] for place in places)
    return " or ".join(f"in {level}" if level else "at the top level" for level in levels)
