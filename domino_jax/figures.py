"""What an evaluation says of one way of decoding: acceptance, equality, speed, over one set of prompts or the average of several.

A mean acceptance length is over all rounds of all prompts of a set, accepted + bonus each, before any cut by a stop or the budget. Over
several sets it is the plain mean of the sets' means. Its interval is a bootstrap over the prompts of each set; a ratio's draws the same
prompts for both drafters. A prompt that is a conversation is drawn with all its answers.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from domino_jax.events import Result
from domino_jax.loops import loops
from domino_jax.statistics import by_position

NUMBER = r" *(?:\\?\$)? *(-?[\d,]*\.?\d+)"
ANSWER = re.compile(rf"####{NUMBER}|\\boxed\{{{NUMBER} *(?:\\?%)? *\}}")  # as GSM8K writes it, and as its benchmarks ask for it
RESAMPLES = 2000


@dataclass(frozen=True)
class Answers:
    """The answers to the prompts of a set: those to each prompt, one a turn. `seconds`: of their decoding, without compilation."""

    rows: list[list[Result]]
    seconds: float

    @property
    def all(self) -> list[Result]:
        return [row for turns in self.rows for row in turns]


@dataclass(frozen=True)
class Way:
    """A way of decoding, `width` proposals a round (0: target-only), and its answers to each set."""

    name: str
    kind: str
    width: int
    sets: list[Answers]

    def of(self, number: int) -> "Way":
        """The same with one set alone."""
        return Way(self.name, self.kind, self.width, [self.sets[number]])


@dataclass(kw_only=True)
class Acceptance:
    """Of some answers. What is a mean over rounds is None where a set has no round."""

    answers: int
    rounds: int
    acceptance_length: float | None
    interval: tuple[float, float] | None  # 95 %
    ratio: float | None  # acceptance length over the first drafter's
    ratio_interval: tuple[float, float] | None


@dataclass(kw_only=True)
class Figures(Acceptance):
    """One way of decoding, its acceptance that of all answers. Over several sets counts are sums, the rest means; a ratio is of means."""

    name: str
    kind: str
    prompts: int
    score: float | None  # share of right answers, where they are known
    equal: int  # answers equal to target-only, token for token
    looping: int  # answers that loop
    without_loops: Acceptance  # of the others
    oracle: float | None
    by_position: list[float] | None  # share of rounds in which proposal j, and all before it, stood
    tokens: int
    tokens_per_second: float | None  # all tokens over all seconds, also over several sets


def figures(ours: Way, plain: Way, first: Way, expected: Sequence[Sequence[str] | None]) -> Figures:
    """`plain` is target-only, `first` the first drafter; `expected` are the right answers to each set, or None."""
    rows = [row for answers in ours.sets for row in answers.all]
    seconds = sum(answers.seconds for answers in ours.sets)
    curves = [by_position(_lengths(answers.all), ours.width) for answers in ours.sets]
    return Figures(
        name=ours.name,
        kind=ours.kind,
        prompts=sum(len(answers.rows) for answers in ours.sets),
        score=_mean([score(answers, right) for answers, right in zip(ours.sets, expected, strict=True)]),
        equal=sum(same for answers, others in zip(ours.sets, plain.sets, strict=True) for same in equal(answers, others)),
        looping=sum(map(is_looping, rows)),
        without_loops=Acceptance(**acceptance(ours, first, lambda row: not is_looping(row))),
        oracle=_mean([oracle(answers, ours.width) for answers in ours.sets]),
        by_position=None if None in curves else np.mean(curves, 0).tolist(),
        tokens=sum(len(row.output_ids) for row in rows),
        tokens_per_second=sum(map(_later, rows)) / seconds if any(map(_later, rows)) else None,
        **acceptance(ours, first, lambda row: True),
    )


def records(ours: Answers, plain: Answers, expected: Sequence[str] | None) -> list[dict]:
    """What the figures of a set are made of, answer by answer. `right` stands at the last turn, where the answer is known."""
    known = expected or [None] * len(ours.rows)
    return [
        {
            "id": row.id,
            "turn": turn,
            "tokens": len(row.output_ids),
            "rounds": row.rounds,
            "acceptance_lengths": list(row.acceptance_lengths),
            "finish_reason": row.finish_reason,
            "looping": is_looping(row),
            "equal": row.output_ids == other.output_ids,
            "right": right(row.text, answer) if answer is not None and turn == len(turns) else None,
        }
        for turns, others, answer in zip(ours.rows, plain.rows, known, strict=True)
        for turn, (row, other) in enumerate(zip(turns, others, strict=True), 1)
    ]


# Acceptance


def acceptance(ours: Way, first: Way, counts: Callable[[Result], bool]) -> dict:
    """The fields of an `Acceptance` of those answers that count."""
    rows = [row for answers in ours.sets for row in answers.all if counts(row)]
    (mean, means), (first_mean, first_means) = (mean_lengths(way, counts) for way in (ours, first))
    return dict(
        answers=len(rows),
        rounds=sum(row.rounds for row in rows),
        acceptance_length=_number(mean),
        interval=interval(means),
        ratio=_number(mean / first_mean),
        ratio_interval=interval(means / first_means),
    )


def mean_lengths(way: Way, counts: Callable[[Result], bool]) -> tuple[float, np.ndarray]:
    """The mean acceptance length, and that of each resample; NaN where a set has no round."""
    sets = [[_lengths(filter(counts, turns)) for turns in answers.rows] for answers in way.sets]
    whole = [resampled(lengths, np.arange(len(lengths))[None]) for lengths in sets]
    drawn = [resampled(lengths, draws(len(lengths), number)) for number, lengths in enumerate(sets)]
    return float(np.mean(whole)), np.mean(drawn, 0)


def draws(count: int, seed: int) -> np.ndarray:
    """The prompts of each resample of `count` prompts, [RESAMPLES, count]; the same for all ways of decoding."""
    return np.random.default_rng(seed).integers(0, count, (RESAMPLES, count))


def resampled(lengths: Sequence[Sequence[int]], draws: np.ndarray) -> np.ndarray:
    """The mean over the rounds of the prompts of each resample, NaN where they have none; `lengths` are those of a prompt's rounds."""
    total, rounds = (np.array([function(some) for some in lengths], float)[draws].sum(1) for function in (sum, len))
    return np.divide(total, rounds, out=np.full(len(draws), np.nan), where=rounds > 0)


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """The middle 95 % of those that are numbers."""
    values = values[np.isfinite(values)]
    return tuple(np.percentile(values, [2.5, 97.5]).tolist()) if len(values) else None


# Answers


def is_looping(row: Result) -> bool:
    """Whether the budget ended the answer in a loop: what a model ended by itself it has got out of."""
    return row.finish_reason == "length" and loops(row.output_ids)


def equal(ours: Answers, plain: Answers) -> list[bool]:
    return [row.output_ids == other.output_ids for row, other in zip(ours.all, plain.all, strict=True)]


def score(answers: Answers, expected: Sequence[str] | None) -> float | None:
    """The share of prompts whose last answer is right."""
    if expected is None:
        return None
    return float(np.mean([right(turns[-1].text, answer) for turns, answer in zip(answers.rows, expected, strict=True)]))


def right(text: str | None, answer: str) -> bool:
    """By the first number marked as the answer, where the right one has such a number; else word for word."""
    if text is None:
        return False
    expected = marked_number(answer)
    return text.strip() == answer.strip() if expected is None else marked_number(text) == expected


def marked_number(text: str) -> Decimal | None:
    """The first after `####` or in a box, be it money or percent."""
    found = ANSWER.search(text)
    return found and Decimal((found[1] or found[2]).replace(",", ""))


def oracle(answers: Answers, width: int) -> float | None:
    """The most tokens a round that any drafter could give on these answers: every round accepts all that is left, or `width`."""
    later = [_later(row) for row in answers.all]
    return sum(later) / sum(-(-n // (width + 1)) for n in later) if any(later) else None


def _later(row: Result) -> int:
    """Tokens after the first, which prefill gives."""
    return max(len(row.output_ids) - 1, 0)


def _lengths(rows) -> list[int]:
    return [length for row in rows for length in row.acceptance_lengths]


def _mean(values: Sequence[float | None]) -> float | None:
    """The plain mean, None if a value is missing."""
    return None if None in values else float(np.mean(values))


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
