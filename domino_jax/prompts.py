"""Prompts as the command line gives them: texts, token ids, JSONL files, standard input. Checked before anything is loaded."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from domino_jax import jsonl
from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.sampling import VALID
from domino_jax.text import Text

CONTENTS = ("prompt", "messages", "prompt_ids")


def _is_turn(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _is_stop(value: object) -> bool:
    return isinstance(value, str | list) and value not in ("", []) and all(isinstance(v, str) and v for v in value)


def _is_whole(value: object, low: int) -> bool:
    return type(value) is int and value >= low


def _are_ids(value: object) -> bool:
    return _is_whole(value, 0) or (isinstance(value, list) and bool(value) and all(_is_whole(token, 0) for token in value))


# key of a JSONL object -> what its value must be, and that in words
FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "prompt": (lambda v: isinstance(v, str) and v, "a non-empty text"),
    "messages": (lambda v: isinstance(v, list) and v and all(map(_is_turn, v)), "a non-empty list of turns with role and content"),
    "prompt_ids": (lambda v: isinstance(v, list) and v and all(type(token) is int for token in v), "a non-empty list of token ids"),
    "id": (lambda v: type(v) is int or (type(v) is str and v.isprintable()), "an integer or a printable text"),
    "n": (lambda v: _is_whole(v, 1), "an integer of at least 1"),
    "max_new_tokens": (lambda v: _is_whole(v, 1), "an integer of at least 1"),
    "min_tokens": (lambda v: _is_whole(v, 0), "an integer of at least 0"),
    "stop": (_is_stop, "a text, or a list of texts, each of at least one character"),
    "stop_token_ids": (_are_ids, "a token id or a non-empty list of them"),
    **{name: ((lambda v, valid=valid: type(v) in (int, float) and valid(v)), expected) for name, (valid, expected) in VALID.items()},
}
BESIDES = ("answer", "template", "kind")  # files of problems and tasks have them beside a prompt
# what a line may hold in place of a prompt, for commands that ask turn by turn
TURNS = {
    "turns": (
        lambda v: isinstance(v, list) and v and all(isinstance(turn, str) and turn for turn in v),
        "a non-empty list of the user's texts, none of them empty",
    )
}


@dataclass(frozen=True)
class Request:
    """One prompt, not tokenised yet. Exactly one of text, messages, ids and turns is set; `where` names it in errors.

    A line of a file that is no prompt has `refusal` instead: why not.
    """

    where: str
    text: str | None = None
    messages: list[dict] | None = None
    ids: tuple[int, ...] | None = None
    turns: tuple[str, ...] | None = None  # of the user; not one prompt but one after each answer
    id: str | int | None = None
    n: int | None = None
    max_new_tokens: int | None = None
    min_tokens: int | None = None
    sampling: dict[str, float | int] | None = None
    stop: tuple[str, ...] | None = None
    stop_token_ids: tuple[int, ...] | None = None
    is_line: bool = False  # of a file
    answer: object = None  # the right one as the line has it, for commands that keep score
    refusal: str | None = None

    def readable(self) -> "Request":
        """Itself; raises InputError for a line that is no prompt."""
        if self.refusal is not None:
            raise InputError(self.refusal)
        return self

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
        same = ("id", "max_new_tokens", "where", "sampling", "stop", "stop_token_ids", "min_tokens", "n")
        return Prompt(ids, **{name: getattr(self, name) for name in same})


def from_text(text: str, where: str) -> Request:
    if not text:
        raise InputError(f"{where}: is empty, expected a prompt")
    if jsonl.SURROGATE.search(text):
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


def from_file(path: str, besides: tuple[str, ...] = (), turns: bool = False) -> list[Request]:
    """The prompts of a JSONL file, for commands that want one answer to each; raises InputError for the first bad line.

    Keys named in `besides` may stand in a line too; of them `answer` alone is kept. With `turns` so may these, in place of a prompt.
    """
    requests = [request.readable() for request in lines(path, besides, turns)]
    for request in requests:
        if request.n not in (None, 1):
            raise InputError(f"{request.where}: n is {request.n}, expected 1 (one answer to each prompt is what is asked for here)")
    return requests


def lines(path: str, besides: tuple[str, ...] = (), turns: bool = False) -> list[Request]:
    """The lines of a JSONL file, good and bad."""
    try:
        data = Path(os.path.expanduser(path)).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a JSONL file of prompts") from None
    requests = [_line(line, where, besides, turns) for where, line in jsonl.lines(data, path)]
    if not requests:
        raise InputError(f"{path}: holds no prompt, expected one JSON object a line")
    return requests


def _line(line: bytes, where: str, besides: tuple[str, ...], turns: bool) -> Request:
    try:
        return _request(line, where, besides, turns)
    except InputError as error:
        return Request(where, is_line=True, refusal=str(error))


def _request(line: bytes, where: str, besides: tuple[str, ...], turns: bool) -> Request:
    contents, fields = ((*CONTENTS, *TURNS), FIELDS | TURNS) if turns else (CONTENTS, FIELDS)
    entry = jsonl.parse(line, where)
    if not isinstance(entry, dict):
        raise InputError(f"{where}: is a {type(entry).__name__}, expected an object with one of {', '.join(contents)}")
    answer = entry.get("answer") if "answer" in besides else None
    entry = {key: value for key, value in entry.items() if key not in besides}
    if unknown := [key for key in entry if key not in fields]:
        raise InputError(f"{where}: has the key {json.dumps(unknown[0])}, expected only {', '.join(fields)}")
    given = [key for key in contents if key in entry]
    if len(given) != 1:
        raise InputError(f"{where}: has {' and '.join(given) or 'no prompt'}, expected exactly one of {', '.join(contents)}")
    for key, value in entry.items():
        valid, expected = fields[key]
        if not valid(value):
            raise InputError(f"{where}: {key} is {_shown(value)}, expected {expected}")
    return Request(
        where,
        text=entry.get("prompt"),
        messages=entry.get("messages"),
        ids=_several(entry, "prompt_ids"),
        turns=_several(entry, "turns"),
        sampling={name: entry[name] for name in VALID if name in entry} or None,
        stop=_several(entry, "stop"),
        stop_token_ids=_several(entry, "stop_token_ids"),
        is_line=True,
        answer=answer,
        **{name: entry.get(name) for name in ("id", "n", "max_new_tokens", "min_tokens")},
    )


def _several(entry: dict, key: str) -> tuple | None:
    """A list, or one value that stands for a list of one, as a tuple; None where the key is missing."""
    value = entry.get(key)
    return value if value is None else tuple(value) if isinstance(value, list) else (value,)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
