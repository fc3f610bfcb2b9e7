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
        found[name] = PromptSet(name, named, answers_of(requests))
    return list(found.values())


def answers_of(requests: Sequence[Request]) -> list[str] | None:
    """The right answer to each, or None if the file gives none."""
    answers = [request.answer for request in requests]
    if all(answer is None for answer in answers):
        return None
    for request, answer in zip(requests, answers, strict=True):
        if not isinstance(answer, str):
            raise InputError(f"{request.where}: answer is {json.dumps(answer)}, expected a text in every line or in none")
    return answers
