"""The notation that prompts are written in, and how one is drawn from it.

    {^WHY}            an entry of the list WHY, its first letter a capital
    {a JOB}           an entry with its article, a or an
    {who=NAME}        an entry with a name, told again by {who} or {^who}
    {3-9}, {10-90/10} a number from a range, in steps
    {s=Mill|Church}   one of these words, with a name
    [short|long|]     one of these, here possibly nothing; brackets without a bar are brackets
    ¶                 a new line

Entries are in the same notation. An entry that was drawn is drawn again only where nothing else is left.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import NamedTuple

from domino_jax.demo.template import choose

FIELD = re.compile(r"\{(\^?)(a )?(?:([a-z]\w*)=)?([A-Z][A-Z_]*|\d+-\d+(?:/\d+)?|[^{}|=]+(?:\|[^{}|=]+)+)\}|\{(\^?)([a-z]\w*)\}")
TRIES = 50  # for an entry that the prompt does not have yet


class Field(NamedTuple):
    capital: bool
    article: bool
    name: str | None  # to tell it again
    source: str | None  # a list, a range or words with bars between; None: what `name` was


class Choice(NamedTuple):
    options: tuple[tuple, ...]  # each a sequence of texts, fields and choices


def lines(text: str) -> tuple[str, ...]:
    """A list written one entry a line."""
    return tuple(line.strip() for line in text.strip().splitlines() if line.strip())


def words(text: str) -> tuple[str, ...]:
    """A list written with semicolons between its entries."""
    return tuple(entry for entry in (" ".join(part.split()) for part in text.split(";")) if entry)


@cache
def parse(text: str) -> tuple:
    """Texts, fields and choices in order."""
    found, start, depth = [], 0, 0
    bars: list[int] = []
    for at, sign in enumerate(text):
        depth += sign == "["
        if sign == "[" and depth == 1:
            opened, bars = at, []
        elif sign == "|" and depth == 1:
            bars.append(at)
        elif sign == "]" and depth == 1 and bars:
            cuts = [opened, *bars, at]
            found += _fields(text[start:opened])
            found.append(Choice(tuple(parse(text[low + 1 : high]) for low, high in pairwise(cuts))))
            start = at + 1
        depth -= sign == "]"
    return (*found, *_fields(text[start:]))


def _fields(text: str) -> list[str | Field]:
    found, start = [], 0
    for match in FIELD.finditer(text):
        capital, article, name, source, again_capital, again = match.groups()
        found += [_text(text[start : match.start()]), Field(bool(capital or again_capital), bool(article), name or again, source)]
        start = match.end()
    return [*found, _text(text[start:])]


def _text(text: str) -> str:
    return text.replace("¶", "\n")


def draw(text: str, random: Random, lists: Mapping[str, Sequence[str]], told: dict[str, str]) -> str:
    """One text of the notation; `told` has what names mean, and gains those that are named here."""
    return _tell(parse(text), random, lists, told, set())


def _tell(nodes: tuple, random: Random, lists: Mapping[str, Sequence[str]], told: dict[str, str], drawn: set[str]) -> str:
    parts = []
    for node in nodes:
        if isinstance(node, Choice):
            node = _tell(choose(random, node.options), random, lists, told, drawn)
        elif isinstance(node, Field):
            node = _word(node, random, lists, told, drawn)
        parts.append(node)
    return "".join(parts)


def _word(field: Field, random: Random, lists: Mapping[str, Sequence[str]], told: dict[str, str], drawn: set[str]) -> str:
    if field.source is None:
        word = told[field.name]
    elif field.source[0].isdigit():
        low, high, step = map(int, (*re.split("[-/]", field.source), 1)[:3])
        word = str(choose(random, range(low, high + 1, step)))
    elif "|" in field.source:
        word = choose(random, field.source.split("|"))
    else:
        word = _tell(parse(_entry(field.source, random, lists, drawn)), random, lists, told, drawn)
    if field.name:
        told[field.name] = word
    if field.article:
        word = f"{'an' if word[0] in 'aeiouAEIO' else 'a'} {word}"
    return word[:1].upper() + word[1:] if field.capital else word


def _entry(source: str, random: Random, lists: Mapping[str, Sequence[str]], drawn: set[str]) -> str:
    for _ in range(TRIES):
        entry = choose(random, lists[source])
        if entry not in drawn:
            break
    drawn.add(entry)
    return entry
