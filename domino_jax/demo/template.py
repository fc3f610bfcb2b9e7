"""What a word problem is made of: numbers and words to draw, and texts whose calculations are worked out as they are told.

A template is written as it reads:

    Template(
        "kite_string",
        "who NAMES, rolls 3-9, length 12-40, used 20-90",
        '''
        {who} buys {rolls} rolls of string, {length} meters each, and ties {used} meters to a kite. How much string is left?
        {who} buys {rolls * length = bought} meters of string.
        After the kite {who} has {bought - used = left} meters of string left.
        ''',
    )

First comes what is drawn: a word of a list in `words`, a number from a range (`price 10-90 by 10`), or a number that follows from others
(`total = bags * each`). The texts say the same in other words. Lines without a calculation are the question. Every other line is a step
of the answer and has one calculation, `{rolls * length = bought}`: it is told as `4 * 25 = 100`, and names its value for the lines below.
A draw that leaves the demo's arithmetic (see `calculate`) is thrown away, so templates need no conditions.
"""

import re
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from domino_jax.demo import words

T = TypeVar("T")

SMALLEST, LARGEST = 2, 999  # no 1: nouns stay plural
WORD = re.compile(r"(\w+) ([A-Z]+)")
RANGE = re.compile(r"(\w+) (\d+)-(\d+)(?: by (\d+))?")
FOLLOWS = re.compile(r"(\w+) = (\w+) ([-+*/]) (\w+)")
CALCULATION = re.compile(r"\{(\w+) ([-+*/]) (\w+) = (\w+)\}")
FIELD = re.compile(r"\{(\w+)\}")


class Calculation(NamedTuple):
    """`left sign right = name`; an operand is the name of a value, or a constant in digits."""

    left: str
    sign: str
    right: str
    name: str


class Telling(NamedTuple):
    """One wording of a template, question and answer together, in the notation of `str.format`."""

    question: str
    answer: str
    calculations: tuple[Calculation, ...]


def choose(random: Random, options: Sequence[T]) -> T:
    """One of them. Of all methods, Python promises only of `random` that a seed gives the same sequence in every version."""
    return options[int(random.random() * len(options))]


def calculate(left: int, sign: str, right: int) -> int | None:
    """`left sign right`, or None where the demo's arithmetic ends: 2 to 999, products up to 12 * 99, and division undoes those."""
    if sign == "+":
        value = left + right
    elif sign == "-":
        value = left - right
    elif sign == "*":
        value = left * right if min(left, right) <= 12 and max(left, right) <= 99 else 0
    else:
        value = left // right if right <= 12 and left % right == 0 and left <= 99 * right else 0
    return value if SMALLEST <= value <= LARGEST else None


def work_out(calculations: Iterable[Calculation], values: dict[str, int]) -> bool:
    """Adds their results to `values`; False if one leaves the arithmetic."""
    for left, sign, right, name in calculations:
        value = calculate(values[left], sign, values[right])
        if value is None:
            return False
        if values.setdefault(name, value) != value:
            raise ValueError(f"{name} is {values[name]}, but {left} {sign} {right} is {value}")
    return True


def parse(text: str) -> Telling:
    """A telling from a text in this module's notation."""
    lines = [line.strip() for line in text.strip().splitlines()]
    steps = [line for line in lines if CALCULATION.search(line)]
    question = lines[: len(lines) - len(steps)]
    calculations = tuple(Calculation(*found) for found in CALCULATION.findall(text))
    if lines != question + steps or not 2 <= len(steps) == len(calculations) <= 6:
        raise ValueError(f"expected a question and 2 to 6 steps of one calculation each, found {text}")

    def shown(operand: str) -> str:
        return operand if operand.isdigit() else f"{{{operand}}}"

    answer = CALCULATION.sub(lambda m: f"{shown(m[1])} {m[2]} {shown(m[3])} = {shown(m[4])}", "\n".join(steps))
    return Telling(" ".join(question), f"{answer}\n#### {{{calculations[-1].name}}}", calculations)


class Template:
    """A kind of word problem: what is drawn (`words`, `numbers`), what follows from that (`given`), and `tellings`."""

    def __init__(self, name: str, draws: str, *texts: str):
        self.name = name
        self.words: dict[str, tuple[str, ...]] = {}
        self.numbers: dict[str, range] = {}
        self.given: list[Calculation] = []
        for draw in draws.split(", "):
            self.add(draw)
        self.tellings = tuple(map(parse, texts))
        everything = [*self.given, *(calculation for telling in self.tellings for calculation in telling.calculations)]
        operands = [operand for calculation in everything for operand in (calculation.left, calculation.right)]
        self.constants = {operand: int(operand) for operand in operands if operand.isdigit()}
        for telling in self.tellings:
            self.check(telling)

    def add(self, draw: str) -> None:
        if match := WORD.fullmatch(draw):
            self.words[match[1]] = getattr(words, match[2])
        elif match := RANGE.fullmatch(draw):
            self.numbers[match[1]] = range(int(match[2]), int(match[3]) + 1, int(match[4] or 1))
        elif match := FOLLOWS.fullmatch(draw):
            self.given.append(Calculation(match[2], match[3], match[4], match[1]))
        else:
            raise ValueError(f"{self.name}: {draw!r} is no draw")

    def check(self, telling: Telling) -> None:
        """Raises ValueError unless the question says all that the answer needs, and the two together all that was drawn."""
        asked = set(FIELD.findall(telling.question))
        known = {*asked, *self.constants}
        for left, _, right, name in telling.calculations:
            if unknown := {left, right} - known:
                raise ValueError(f"{self.name}: {sorted(unknown)} used before it is asked or calculated")
            known.add(name)
        if unknown := set(FIELD.findall(telling.answer)) - known:
            raise ValueError(f"{self.name}: {sorted(unknown)} in the answer and not in the question")
        if unused := (self.numbers.keys() - known) | (self.words.keys() - asked):
            raise ValueError(f"{self.name}: {sorted(unused)} drawn and not told")

    def draw(self, random: Random) -> dict[str, int] | None:
        """Numbers, those that follow and the constants among them; None if they leave the arithmetic."""
        values = {name: choose(random, options) for name, options in self.numbers.items()}
        values |= self.constants
        return values if work_out(self.given, values) else None

    def tell(self, random: Random, numbers: dict[str, int]) -> tuple[str, str] | None:
        """Question and answer with these numbers; None if they leave the arithmetic. No word is drawn twice."""
        telling = choose(random, self.tellings)
        values: dict[str, int | str] = dict(numbers)
        if not work_out(telling.calculations, values):
            return None
        drawn: list[str] = []
        for name, options in self.words.items():
            word = choose(random, options)
            while word in drawn:
                word = choose(random, options)
            drawn.append(word)
            values[name] = word
        return telling.question.format_map(values), telling.answer.format_map(values)
