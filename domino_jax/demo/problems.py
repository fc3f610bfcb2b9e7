"""Seeded grade-school word problems with worked answers, made of `TEMPLATES`: what the demo models are trained and tested on.

    python -m domino_jax.demo.problems --split test --count 200 --seed 0

The same seed gives the same problems on every machine and Python version. Training and test problems share their templates and no
(template, numbers) pair; the problems of `held_out` come from templates of their own.
"""

import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random

import domino_jax
from domino_jax import cli
from domino_jax.demo import (
    templates_journeys,
    templates_kitchen,
    templates_land,
    templates_school,
    templates_shops,
    templates_works,
)
from domino_jax.demo.template import Template
from domino_jax.errors import InputError

SPLITS = ("train", "test", "held_out")
HELD_OUT = (
    "bead_necklaces", "bicycle_rental", "ferry_deck", "fruit_skewers", "lake_birds", "letter_stamps", "ticket_booth", "watering_cans",
)  # fmt: skip
TEST_SHARE = 50  # one pair of template and numbers in so many is a test pair
TEMPLATES: tuple[Template, ...] = (
    *templates_shops.TEMPLATES,
    *templates_kitchen.TEMPLATES,
    *templates_land.TEMPLATES,
    *templates_journeys.TEMPLATES,
    *templates_school.TEMPLATES,
    *templates_works.TEMPLATES,
)
RESULT = re.compile(r"#### (-?\d+)")


@dataclass(frozen=True)
class Problem:
    """A question in one line, and an answer of 2 to 6 steps, one a line, that ends in the line `#### N`."""

    question: str
    answer: str
    template: str
    numbers: tuple[int, ...]  # as drawn, in the template's order

    @property
    def result(self) -> int:
        return int(RESULT.search(self.answer)[1])


def score(text: str, problem: Problem) -> bool:
    """Whether the first `#### N` of an answer has the problem's result."""
    found = RESULT.search(text)
    return found is not None and int(found[1]) == problem.result


def split_of(template: str, numbers: tuple[int, ...]) -> str:
    """The one split that these numbers belong to."""
    if template in HELD_OUT:
        return "held_out"
    return "train" if zlib.crc32(f"{template} {numbers}".encode()) % TEST_SHARE else "test"


def generate(split: str, count: int, seed: int = 0) -> Iterator[Problem]:
    """`count` different problems, the templates in turn. A smaller count gives the first of the same problems."""
    if split not in SPLITS:
        raise InputError(f"split is {split!r}, expected one of {', '.join(SPLITS)}")
    if count < 0:
        raise InputError(f"count is {count}, expected at least 0")
    return _generate(split, count, Random(f"{split} {seed}"))


def _generate(split: str, count: int, random: Random) -> Iterator[Problem]:
    templates = [template for template in TEMPLATES if (template.name in HELD_OUT) == (split == "held_out")]
    seen: set[str] = set()
    for template in cycle(templates):
        if len(seen) == count:
            return
        problem = _draw(template, split, random)
        while problem.question in seen:
            problem = _draw(template, split, random)
        seen.add(problem.question)
        yield problem


def _draw(template: Template, split: str, random: Random) -> Problem:
    while True:
        if (values := template.draw(random)) is None:
            continue
        numbers = tuple(values[name] for name in template.numbers)
        if split_of(template.name, numbers) == split and (told := template.tell(random, values)) is not None:
            return Problem(*told, template.name, numbers)


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.demo.problems", description="Prints word problems, one JSON object a line.")
    p.add_argument("--split", choices=SPLITS, default="test", help="default test; held_out: templates that are in no other split")
    p.add_argument("--count", type=cli.number(1), default=10, metavar="N", help="problems to print; default 10")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="other seeds, other problems; default 0")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    p.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    for problem in generate(arguments.split, arguments.count, arguments.seed):
        print(json.dumps({"prompt": problem.question, "answer": problem.answer, "template": problem.template}))
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
