"""Sets of prompts: JSONL files whose lines may hold turns in place of a prompt, and the answers known to be right."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from domino_jax import prompts
from domino_jax.errors import InputError
from domino_jax.prompts import Request


@dataclass(frozen=True)
class PromptSet:
    """A file of prompts, named by its stem. A line without an id has its place. `answers`: the right ones, where the file gives them."""

    name: str
    requests: list[Request]
    answers: list[str] | None


def read(paths: Sequence[str]) -> list[PromptSet]:
    """Raises InputError for a line that is no prompt, for an answer missing among others, and for two files of one name."""
    found: dict[str, PromptSet] = {}
    for path in paths:
        name = Path(path).stem
        if name in found:
            raise InputError(f"--prompts {path}: is the second set named {name}, expected file names that differ")
        requests = prompts.from_file(path, besides=prompts.BESIDES, turns=True)
        named = [replace(request, id=number) if request.id is None else request for number, request in enumerate(requests)]
        found[name] = PromptSet(name, named, read_answers(path))
    return list(found.values())


def read_answers(path: str) -> list[str] | None:
    """The `answer` of each line, or None if the file gives none."""
    lines = [line for line in Path(path).expanduser().read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    answers = [json.loads(line).get("answer") for line in lines]
    if all(answer is None for answer in answers):
        return None
    for number, answer in enumerate(answers, 1):
        if not isinstance(answer, str):
            raise InputError(f"{path}, prompt {number}: answer is {json.dumps(answer)}, expected a text in every line or in none")
    return answers
