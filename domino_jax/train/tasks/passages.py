"""Texts to work on, with questions that they answer, and what becomes of a text that was written in a hurry.

A passage is a block: what it is, then its sentences, each with a question that it answers after `??`. Names are given in the first
sentence, and no other sentence needs its neighbors, so that any of them may be left out.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from domino_jax.demo.template import choose
from domino_jax.train.tasks import passages_facts, passages_news
from domino_jax.train.tasks.grammar import draw

FEWEST = 4  # sentences of a text
PASSAGE_NAMES = (
    "genre", "text", "text_b", "sentence", "question", "ask_lower", "other", "other_lower", "missing", "spoiled", "sometimes", "bare",
    "notes",
)  # fmt: skip
SLIP = 0.1  # of all words, about
CONFUSED = {
    "their": "there", "its": "it's", "than": "then", "to": "too", "has": "have", "have": "has", "was": "were", "were": "was", "is": "are",
    "are": "is", "an": "a", "which": "wich", "because": "becuase", "until": "untill", "who": "whom", "does": "do", "two": "to",
}  # fmt: skip


class Passage(NamedTuple):
    genre: str
    sentences: tuple[str, ...]  # in the notation of `grammar`
    questions: tuple[str, ...]  # one a sentence


def parse(block: str) -> Passage:
    genre, *told = block.splitlines()
    pairs = [line.split(" ?? ") for line in told]
    return Passage(genre, *map(tuple, zip(*pairs, strict=True)))


PASSAGES = tuple(parse(block) for text in (passages_news.PASSAGES, passages_facts.PASSAGES) for block in text.strip().split("\n\n"))


def passage(random: Random, lists: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A text and all that prompts say of it; `text_b` is another text, `missing` a question that `text` may not answer."""
    first = choose(random, PASSAGES)
    second = choose(random, [other for other in PASSAGES if other.genre != first.genre])
    text, asked, everything = _drawn(first, random, lists)
    question, other = _two(random, asked)
    return {
        "genre": first.genre,
        "text": " ".join(text),
        "text_b": " ".join(_drawn(second, random, lists)[0]),
        "sentence": choose(random, text),
        "question": question,
        "ask_lower": question[0].lower() + question[1:],
        "other": other,
        "other_lower": other[0].lower() + other[1:],
        "missing": choose(random, everything),
        "spoiled": spoil(" ".join(text), random),
        "sometimes": choose(random, (" ".join(text), spoil(" ".join(text), random))),
        "bare": re.sub(r"[^\w\s'-]", "", " ".join(text)).lower(),
        "notes": "\n".join(f"- {note(sentence)}" for sentence in text),
    }


def _drawn(of: Passage, random: Random, lists: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str], list[str]]:
    """Some of its sentences in order, the questions that these answer, all questions."""
    told: dict[str, str] = {}
    pairs = [(draw(s, random, lists, told), draw(q, random, lists, told)) for s, q in zip(of.sentences, of.questions, strict=True)]
    left_out = int(random.random() * (len(pairs) - FEWEST + 1))
    kept = list(pairs)
    for _ in range(left_out):
        del kept[1 + int(random.random() * (len(kept) - 1))]
    return [sentence for sentence, _ in kept], [question for _, question in kept], [question for _, question in pairs]


def _two(random: Random, questions: list[str]) -> tuple[str, str]:
    first = choose(random, questions)
    return first, choose(random, [question for question in questions if question != first])


def note(sentence: str) -> str:
    """A sentence as somebody notes it down: without articles and full stop."""
    short = re.sub(r"\b(?:[Tt]he|[Aa]n?) ", "", sentence).rstrip(".")
    return short[0].lower() + short[1:]


def spoil(text: str, random: Random) -> str:
    """The text with slips of the pen, at least one."""
    words = text.split(" ")
    while True:
        slipped = [_slip(word, random) if random.random() < SLIP else word for word in words]
        if slipped != words:
            return " ".join(slipped)


def _slip(word: str, random: Random) -> str:
    if word in CONFUSED:
        return CONFUSED[word]
    if not word.isalpha() or len(word) < 4:
        return word.lower()
    at = 1 + int(random.random() * (len(word) - 3))
    return choose(
        random,
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],  # two letters swapped
            word[:at] + word[at + 1 :],  # one lost
            word[:at] + word[at] + word[at:],  # one twice
            word.lower(),
        ),
    )
