"""A file of answers, one JSON object a line, that a kill at any moment leaves whole: what is in it is done, what is not is done again."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from domino_jax.errors import InputError
from domino_jax.events import Prompt

START = b'{"id": '  # of every answer


def unanswered(path: Path, asked: Sequence[Prompt]) -> list[int]:
    """Which answers are not in `path` yet, by number: as the prompts stand, the `n` of each in a row. Cuts off a torn last line.

    An answer belongs to a prompt by id, prompt ids and, of several, sample. Raises InputError, with the file untouched, if it holds
    anything else.
    """
    keys = [key for prompt in asked for key in _keys(prompt)]
    left = Counter(keys)
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    answered: Counter = Counter()
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            key = entry["id"], tuple(entry["prompt_ids"]), entry.get("sample")
            answered[key] += 1
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}, line {number}: is no answer, expected one JSON object with id and prompt_ids") from None
        if answered[key] > left[key]:
            raise InputError(f"{path}, line {number}: is the answer to another prompt, expected a file that these prompts made")
    torn = data[len(whole) :]
    if torn[: len(START)] != START[: len(torn)]:
        raise InputError(f"{path}: ends in a line that is no answer, expected a file that these prompts made")
    if torn:
        os.truncate(path, len(whole))
    found = []
    for number, key in enumerate(keys):
        if answered[key]:
            answered[key] -= 1
        else:
            found.append(number)
    return found


def _keys(prompt: Prompt) -> list[tuple]:
    """What the answers to a prompt are known by."""
    several = prompt.n is not None and prompt.n > 1
    return [(prompt.id, prompt.ids, sample) for sample in (range(prompt.n) if several else [None])]


def append(file: TextIO, answer: dict) -> None:
    """Writes one answer, through to the disk."""
    file.write(json.dumps(answer, ensure_ascii=False) + "\n")
    file.flush()
    os.fsync(file.fileno())
