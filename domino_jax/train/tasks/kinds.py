"""The kinds of prompts, how many of each, and the drawing of distinct ones."""

import re
import sys
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from domino_jax.demo import problems
from domino_jax.demo.template import choose
from domino_jax.errors import InputError
from domino_jax.train.tasks import (
    templates_arithmetic,
    templates_brainstorm,
    templates_classify,
    templates_code,
    templates_compare,
    templates_dialogue,
    templates_edit,
    templates_explain,
    templates_knowledge,
    templates_list,
    templates_plan,
    templates_retrieval,
    templates_rewrite,
    templates_summarise,
    templates_translate,
    templates_write,
    words_code,
    words_lists,
    words_manner,
    words_pairs,
    words_people,
    words_subjects,
)
from domino_jax.train.tasks.grammar import draw
from domino_jax.train.tasks.passages import PASSAGE_NAMES, passage

ROLES = {"!": "system", ">": "user", "<": "assistant"}
TURN = re.compile(r"\n([!><]) ")
TRIES = 1000  # draws of a kind without a new prompt


class Kind(NamedTuple):
    name: str
    share: int  # of all prompts, in percent
    templates: tuple[str, ...]


KINDS = (
    Kind("arithmetic", 12, templates_arithmetic.TEMPLATES),
    Kind("brainstorm", 4, templates_brainstorm.TEMPLATES),
    Kind("classify", 5, templates_classify.TEMPLATES),
    Kind("code", 15, templates_code.TEMPLATES),
    Kind("compare", 5, templates_compare.TEMPLATES),
    Kind("dialogue", 10, templates_dialogue.TEMPLATES),
    Kind("edit", 4, templates_edit.TEMPLATES),
    Kind("explain", 8, templates_explain.TEMPLATES),
    Kind("knowledge", 5, templates_knowledge.TEMPLATES),
    Kind("list", 5, templates_list.TEMPLATES),
    Kind("plan", 5, templates_plan.TEMPLATES),
    Kind("retrieval", 5, templates_retrieval.TEMPLATES),
    Kind("rewrite", 4, templates_rewrite.TEMPLATES),
    Kind("summarise", 4, templates_summarise.TEMPLATES),
    Kind("translate", 4, templates_translate.TEMPLATES),
    Kind("write", 5, templates_write.TEMPLATES),
)
HUNDRED = tuple(kind for kind in KINDS for _ in range(kind.share))  # one for each percent
WORDS = (
    words_code, words_lists, words_manner, words_pairs, words_people, words_subjects, templates_arithmetic, templates_brainstorm,
    templates_classify, templates_code, templates_compare, templates_dialogue, templates_explain, templates_knowledge, templates_plan,
    templates_summarise, templates_translate, templates_write,
)  # fmt: skip
LISTS = {name: entries for module in WORDS for name, entries in vars(module).items() if isinstance(entries, tuple) and name != "TEMPLATES"}


FUNCTION_NAMES = ("signature", "name", "returns", "returns_b")


class Told(dict):
    """What names mean in one prompt. A passage, functions and a word problem are drawn when a prompt first asks for them."""

    def __init__(self, random: Random, questions: Iterator[problems.Problem]):
        super().__init__()
        self.random, self.questions = random, questions

    def __missing__(self, name: str) -> str:
        if name == "problem":
            self[name] = next(self.questions).question
        elif name in FUNCTION_NAMES:
            self.update(functions(self.random))
        elif name in PASSAGE_NAMES:
            self.update(passage(self.random, LISTS))
        else:
            raise KeyError(name)
        return self[name]


def functions(random: Random) -> dict[str, str]:
    """A function by its signature, name and what it does, and what another one does."""
    signature, returns = choose(random, words_code.FUNCTION).split(": ", 1)
    name = signature.partition("(")[0]
    others = [entry for entry in words_code.FUNCTION if not entry.startswith(name)]
    return {"signature": signature, "name": name, "returns": returns, "returns_b": choose(random, others).split(": ", 1)[1]}


def generate(count: int, seed: int = 0) -> Iterator[dict]:
    """`count` different prompts, {"prompt" or "messages", "kind"}. A smaller count gives the first of the same prompts.

    Raises InputError when a kind has no more.
    """
    random = Random(f"tasks {seed}")
    questions = problems.generate("train", sys.maxsize, seed)
    seen: set[str] = set()
    while len(seen) < count:
        kind = choose(random, HUNDRED)
        for _ in range(TRIES):
            text = draw(choose(random, kind.templates), random, LISTS, Told(random, questions))
            if text not in seen:
                break
        else:
            raise InputError(f"--count is {count}, expected at most {len(seen)} with this seed: there are no more prompts to {kind.name}")
        seen.add(text)
        yield {**content(text), "kind": kind.name}


def content(text: str) -> dict:
    """A prompt, or the turns of a dialogue."""
    if text[:2] not in (f"{mark} " for mark in ROLES):
        return {"prompt": text}
    turns = TURN.split(f"\n{text}")[1:]
    return {"messages": [{"role": ROLES[mark], "content": said} for mark, said in zip(turns[::2], turns[1::2], strict=True)]}
