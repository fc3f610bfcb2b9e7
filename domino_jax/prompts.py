"""Prompts as the command line gives them: texts, token ids, JSONL files, standard input. Checked before anything is loaded."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.text import Text

CONTENTS = ("prompt", "messages", "prompt_ids")
OPTIONAL = ("id", "max_new_tokens")


@dataclass(frozen=True)
class Request:
    """One prompt, not tokenised yet. Exactly one of text, messages and ids is set; `where` names it in errors."""

    where: str
    text: str | None = None
    messages: list[dict] | None = None
    ids: tuple[int, ...] | None = None
    id: str | int | None = None
    max_new_tokens: int | None = None

    def encode(self, text: Text | None, raw: bool, thinking: bool) -> Prompt:
        """Its token ids. Text becomes one user turn of the chat template unless `raw`."""
        ids = self.ids
        if ids is None:
            if text is None:
                raise InputError(f"{self.where}: is text but the target's directory has no tokenizer, expected token ids (--prompt-ids)")
            if raw and self.messages is not None:
                raise InputError(f"{self.where}: messages need the chat template, expected a prompt text with --raw")
            messages = self.messages or [{"role": "user", "content": self.text}]
            ids = tuple(text.encode(self.text) if raw else text.encode_chat(messages, thinking))
        if not ids:
            raise InputError(f"{self.where}: is empty, expected at least one token")
        return Prompt(ids, self.id, self.max_new_tokens, self.where)


def from_text(text: str, where: str) -> Request:
    if not text:
        raise InputError(f"{where}: is empty, expected a prompt")
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


def from_file(path: str) -> list[Request]:
    """The prompts of a JSONL file: UTF-8, with or without a byte-order mark, LF or CRLF, blank lines skipped."""
    try:
        data = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a JSONL file of prompts") from None
    requests = list(_lines(path, data.removeprefix(b"\xef\xbb\xbf")))
    if not requests:
        raise InputError(f"{path}: holds no prompt, expected one JSON object a line")
    return requests


def _lines(path: str, data: bytes) -> Iterator[Request]:
    for number, line in enumerate(data.split(b"\n"), 1):
        where = f"{path}, line {number}"
        try:
            text = line.decode("utf-8").strip()
            entry = json.loads(text) if text else None
        except UnicodeDecodeError:
            raise InputError(f"{where}: is not UTF-8, expected a JSON object") from None
        except json.JSONDecodeError as error:
            raise InputError(f"{where}: is not JSON ({error}), expected an object with one of {', '.join(CONTENTS)}") from None
        if text:
            yield _request(entry, where)


def _request(entry: object, where: str) -> Request:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: is a {type(entry).__name__}, expected an object with one of {', '.join(CONTENTS)}")
    if unknown := [key for key in entry if key not in CONTENTS + OPTIONAL]:
        raise InputError(f"{where}: has the key {unknown[0]}, expected only {', '.join(CONTENTS + OPTIONAL)}")
    given = [key for key in CONTENTS if key in entry]
    if len(given) != 1:
        raise InputError(f"{where}: has {' and '.join(given) or 'no prompt'}, expected exactly one of {', '.join(CONTENTS)}")
    valid = {
        "prompt": lambda v: isinstance(v, str) and v,
        "messages": lambda v: isinstance(v, list) and v and all(isinstance(turn, dict) and "role" in turn for turn in v),
        "prompt_ids": lambda v: isinstance(v, list) and v and all(type(token) is int for token in v),
        "id": lambda v: type(v) in (str, int),
        "max_new_tokens": lambda v: type(v) is int and v >= 1,
    }
    expected = {
        "prompt": "a non-empty text",
        "messages": "a non-empty list of turns with role and content",
        "prompt_ids": "a non-empty list of token ids",
        "id": "a text or an integer",
        "max_new_tokens": "an integer of at least 1",
    }
    for key, value in entry.items():
        if not valid[key](value):
            raise InputError(f"{where}: {key} is {json.dumps(value)}, expected {expected[key]}")
    ids = tuple(entry["prompt_ids"]) if "prompt_ids" in entry else None
    return Request(where, entry.get("prompt"), entry.get("messages"), ids, entry.get("id"), entry.get("max_new_tokens"))
