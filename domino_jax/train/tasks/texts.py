"""Texts of JSONL files, plain or .gz: prompts to add, and texts that no prompt may repeat."""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from domino_jax import jsonl
from domino_jax.errors import InputError


class Source(NamedTuple):
    """A file and the key of its lines that holds the text."""

    path: Path
    key: str

    @property
    def stem(self) -> str:
        return self.path.name.removesuffix(".gz").removesuffix(".jsonl")


def source(given: str) -> Source:
    """FILE[:KEY] as the command line has it; the key is `prompt` unless given."""
    path, colon, key = given.rpartition(":")
    if not colon or not key or "/" in key or os.path.exists(os.path.expanduser(given)):
        path, key = given, "prompt"
    return Source(Path(path).expanduser(), key)


def objects(path: Path) -> Iterator[tuple[str, dict]]:
    """(where, object) of each line that is not blank; raises InputError for the first one that is no object, and for a file without any."""
    lines = jsonl.lines(_read(path), path)
    if not lines:
        raise InputError(f"{path}: is empty, expected one JSON object a line")
    for where, line in lines:
        value = jsonl.parse(line, where)
        if not isinstance(value, dict):
            raise InputError(f"{where}: is a {type(value).__name__}, expected a JSON object")
        yield where, value


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}), expected a JSONL file, plain or .gz") from None
    return data


def texts(of: Source) -> Iterator[list[str]]:
    """The texts of each line: one, or the user turns of a conversation. Raises InputError for a line that has none under the key.

    A dialogue as `train.tasks` writes it, `messages` in place of the key, has those of the user.
    """
    for where, entry in objects(of.path):
        if of.key not in entry and isinstance(entry.get("messages"), list):
            said = [turn for turn in entry["messages"] if isinstance(turn, dict) and turn.get("role") == "user"]
            entry = {of.key: [turn.get("content") for turn in said]}
        if of.key not in entry:
            raise InputError(
                f"{where}: has no key {json.dumps(of.key)}, only {', '.join(entry) or 'none'}; expected one that holds the text"
            )
        found = entry[of.key]
        found = found if isinstance(found, list) else [found]
        if not found or not all(isinstance(text, str) and text for text in found):
            raise InputError(
                f"{where}: {of.key} is {json.dumps(entry[of.key])[:80]}, expected a text or a list of texts, none of them empty"
            )
        yield found
