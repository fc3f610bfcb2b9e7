"""Prompt sets for serving: two kinds made of the demo's word problems, and files."""

import math
import sys
from dataclasses import replace
from itertools import cycle, islice
from random import Random

from domino_jax import prompts
from domino_jax.demo import problems
from domino_jax.errors import InputError
from domino_jax.events import Prompt
from domino_jax.text import Text

MIXED_PROMPT, MIXED_BUDGET = (40, 1500), (1, 512)  # least and most, tokens
SETS = {
    "problems": "word problems that the shipped pair never saw",
    "mixed": "several of them in one prompt, as many as fit into a drawn length of "
    f"{MIXED_PROMPT[0]} to {MIXED_PROMPT[1]} tokens, at least one; budgets of {MIXED_BUDGET[0]} to {MIXED_BUDGET[1]}; both drawn "
    "log-uniformly; the shipped target answers prompts of one problem and babbles after longer ones",
}


def problem_prompts(text: Text, count: int, seed: int) -> list[Prompt]:
    return [chat(text, problem.question) for problem in problems.generate("test", count, seed)]


def mixed_prompts(text: Text, count: int, seed: int) -> list[Prompt]:
    """As many problems a prompt as come nearest to a drawn length from below, or one."""
    random, found = Random(f"mixed {seed}"), []
    questions = (problem.question for problem in problems.generate("test", sys.maxsize, seed))
    for _ in range(count):
        wanted, budget = (round(math.exp(random.uniform(*map(math.log, ends)))) for ends in (MIXED_PROMPT, MIXED_BUDGET))
        asked, longer = [], [next(questions)]
        while not asked or len(chat(text, "\n".join(longer)).ids) <= wanted:
            asked, longer = longer, [*longer, next(questions)]
        found.append(replace(chat(text, "\n".join(asked)), max_new_tokens=budget))
    return found


def chat(text: Text, question: str) -> Prompt:
    return Prompt(tuple(text.encode_chat([{"role": "user", "content": question}])))


def read_set(given: str, text: Text | None, count: int, seed: int) -> tuple[str, list[Prompt]]:
    """A set by name, or a file's prompts (NAME=FILE.jsonl): its first `count`, from the start again where it has fewer."""
    name, _, path = given.partition("=")
    if path:
        requests = prompts.from_file(path, besides=prompts.BESIDES)
        found = [request.encode(text, False, False) for request in requests]
        return name, list(islice(cycle(found), count))
    if name not in SETS:
        raise InputError(f"--prompts is {given}, expected {', '.join(SETS)} or NAME=FILE.jsonl")
    if text is None:
        raise InputError(f"--prompts {name} is text but the target has no tokenizer, expected NAME=FILE.jsonl with prompt_ids")
    return name, {"problems": problem_prompts, "mixed": mixed_prompts}[name](text, count, seed)
