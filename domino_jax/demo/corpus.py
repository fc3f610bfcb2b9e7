"""Word problems as training sequences: the question through the chat template, the worked answer and the stop token supervised."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from domino_jax.demo import problems
from domino_jax.text import Text
from domino_jax.train.data import Examples, pack

PART = 4096


def examples(tokenizer: Path, count: int, seed: int, max_length: int, workers: int) -> Examples:
    """`count` problems of the training split, each part of them from a seed of its own: the same for any number of workers."""
    parts = [(tokenizer, min(PART, count - start), seed * 1_000_003 + start // PART) for start in range(0, count, PART)]
    return pack(_parts(parts, workers), max_length, "the word problems")


def _parts(parts: list[tuple], workers: int) -> Iterator[tuple[list[int], list[int]]]:
    if workers == 1:
        for part in parts:
            yield from encode(*part)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for pairs in pool.map(encode, *zip(*parts, strict=True)):
            yield from pairs


def encode(tokenizer: Path, count: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """(prompt ids, answer ids with the stop token) of `count` problems."""
    text = Text(tokenizer)
    stop = text.tokenizer.eos_token_id
    return [
        (text.encode_chat([{"role": "user", "content": problem.question}]), [*text.encode(problem.answer), stop])
        for problem in problems.generate("train", count, seed)
    ]
