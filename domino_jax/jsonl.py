"""JSONL: UTF-8, with or without a byte-order mark, LF or CRLF, blank lines skipped."""

import json
import re

from domino_jax.errors import InputError

SURROGATE = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are not UTF-8, and JSON of half a pair: no character


def lines(data: bytes, path: object) -> list[tuple[str, bytes]]:
    """The lines of a file's bytes that are not blank, each with its place in words."""
    numbered = enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
    return [(f"{path}, line {number}", line) for number, line in numbered if line.strip()]


def parse(line: bytes, where: str) -> object:
    """The JSON value of one line; raises InputError, with `where`, if it has none."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{where}: is not UTF-8, expected a JSON object") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not JSON ({error.msg} at column {error.colno}), expected a JSON object") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, a thousand brackets
        raise InputError(f"{where}: cannot be read ({error}), expected a JSON object") from None
    if SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise InputError(f"{where}: has half a surrogate pair in a text, expected whole characters")
    return value
