"""Prompts as the command line gives them: texts, token ids, JSONL files, standard input. Checked before anything is loaded."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.sampling import VALID
from domino_jax.text import Text

CONTENTS = ("prompt", "messages", "prompt_ids")
SURROGATE = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are not UTF-8, and JSON of half a pair: no character


def _is_turn(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _is_stop(value: object) -> bool:
    return isinstance(value, str | list) and value not in ("", []) and all(isinstance(v, str) and v for v in value)


# key of a JSONL object -> what its value must be, and that in words
FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "prompt": (lambda v: isinstance(v, str) and v, "a non-empty text"),
    "messages": (lambda v: isinstance(v, list) and v and all(map(_is_turn, v)), "a non-empty list of turns with role and content"),
    "prompt_ids": (lambda v: isinstance(v, list) and v and all(type(token) is int for token in v), "a non-empty list of token ids"),
    "id": (lambda v: type(v) is int or (type(v) is str and v.isprintable()), "an integer or a printable text"),
    "max_new_tokens": (lambda v: type(v) is int and v >= 1, "an integer of at least 1"),
    "stop": (_is_stop, "a text, or a list of texts, each of at least one character"),
    **{name: ((lambda v, valid=valid: type(v) in (int, float) and valid(v)), expected) for name, (valid, expected) in VALID.items()},
}


@dataclass(frozen=True)
class Request:
    """One prompt, not tokenised yet. Exactly one of text, messages and ids is set; `where` names it in errors."""

    where: str
    text: str | None = None
    messages: list[dict] | None = None
    ids: tuple[int, ...] | None = None
    id: str | int | None = None
    max_new_tokens: int | None = None
    sampling: dict[str, float | int] | None = None
    stop: tuple[str, ...] | None = None

    def encode(self, text: Text | None, raw: bool, thinking: bool) -> Prompt:
        """Its token ids. Text becomes one user turn of the chat template unless `raw`."""
        ids = self.ids
        if ids is None:
            if text is None:
                raise InputError(f"{self.where}: is text but the target's directory has no tokenizer, expected token ids (--prompt-ids)")
            if raw and self.messages is not None:
                raise InputError(f"{self.where}: messages need the chat template, expected a prompt text with --raw")
            messages = self.messages or [{"role": "user", "content": self.text}]
            try:
                ids = tuple(text.encode(self.text) if raw else text.encode_chat(messages, thinking))
            except InputError as error:
                raise InputError(f"{self.where}: {error}") from error
        if not ids:
            raise InputError(f"{self.where}: is empty, expected at least one token")
        return Prompt(ids, self.id, self.max_new_tokens, self.where, self.sampling, self.stop)


def from_text(text: str, where: str) -> Request:
    if not text:
        raise InputError(f"{where}: is empty, expected a prompt")
    if SURROGATE.search(text):
        raise InputError(f"{where}: is not UTF-8, expected a text")
    return Request(where, text=text)


def from_ids(words: str, where: str) -> Request:
    """Token ids separated by spaces or commas."""
    try:
        ids = tuple(int(word) for word in words.replace(",", " ").split())
    except ValueError:
        raise InputError(f'{where}: {words!r} is not a list of token ids, expected integers such as "5 9 15"') from None
    if not ids:
        raise InputError(f"{where}: is empty, expected at least one token id")
    return Request(where, ids=ids)


def from_file(path: str, besides: tuple[str, ...] = ()) -> list[Request]:
    """The prompts of a JSONL file: UTF-8, with or without a byte-order mark, LF or CRLF, blank lines skipped.

    Keys named in `besides` may stand in a line too; they are left for others to read.
    """
    try:
        data = Path(os.path.expanduser(path)).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a JSONL file of prompts") from None
    lines = enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
    requests = [_request(line, f"{path}, line {number}", besides) for number, line in lines if line.strip()]
    if not requests:
        raise InputError(f"{path}: holds no prompt, expected one JSON object a line")
    return requests


def _request(line: bytes, where: str, besides: tuple[str, ...]) -> Request:
    entry = _parse(line, where)
    if not isinstance(entry, dict):
        raise InputError(f"{where}: is a {type(entry).__name__}, expected an object with one of {', '.join(CONTENTS)}")
    entry = {key: value for key, value in entry.items() if key not in besides}
    if unknown := [key for key in entry if key not in FIELDS]:
        raise InputError(f"{where}: has the key {json.dumps(unknown[0])}, expected only {', '.join(FIELDS)}")
    given = [key for key in CONTENTS if key in entry]
    if len(given) != 1:
        raise InputError(f"{where}: has {' and '.join(given) or 'no prompt'}, expected exactly one of {', '.join(CONTENTS)}")
    for key, value in entry.items():
        valid, expected = FIELDS[key]
        if not valid(value):
            raise InputError(f"{where}: {key} is {_shown(value)}, expected {expected}")
    ids = tuple(entry["prompt_ids"]) if "prompt_ids" in entry else None
    sampling = {name: entry[name] for name in VALID if name in entry} or None
    stop = entry.get("stop")
    stop = None if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)
    return Request(where, entry.get("prompt"), entry.get("messages"), ids, entry.get("id"), entry.get("max_new_tokens"), sampling, stop)


def _parse(line: bytes, where: str) -> object:
    """The JSON value of one line."""
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


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
