"""Training sequences: token ids with a mask of what is supervised, from JSONL, in an order that a seed fixes.

A line is one of
    {"prompt_ids": [...], "output_ids": [...]}     as `python -m domino_jax.generate --output json` writes them; the output counts
    {"messages": [{"role", "content"}, ...]}       one sequence for each assistant turn, prompted as in serving; that turn counts
    {"prompt": "...", "answer": "..."}             the same for one user turn and its answer
    {"text": "..."}                                all of it counts
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from domino_jax import jsonl
from domino_jax.errors import InputError
from domino_jax.text import Text

LEAST_WIDTH, MOST_WIDTHS = 128, 4  # of batches, in tokens
KINDS = ({"prompt_ids": list, "output_ids": list}, {"messages": list}, {"prompt": str, "answer": str}, {"text": str})


@dataclass(frozen=True)
class Examples:
    """Sequences cut at `max_length`, flat in two arrays; sequence i is tokens[ends[i-1]:ends[i]]."""

    tokens: np.ndarray  # int32
    supervised: np.ndarray  # bool
    ends: np.ndarray  # int64
    dropped: int  # sequences without two supervised neighbours: no block can start in them

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        part = slice(self.ends[i - 1] if i else 0, self.ends[i])
        return self.tokens[part], self.supervised[part]


def read_examples(path: Path, text: Text | None, stop_ids: tuple[int, ...], vocab_size: int, max_length: int) -> Examples:
    """Raises InputError, with file and line, for a line that is none of the kinds or holds ids outside the vocabulary."""
    return pack(sequences(path, text, stop_ids, vocab_size), max_length, str(path))


def pack(pairs: Iterator[tuple[list[int], list[int]]], max_length: int, where: str) -> Examples:
    """(prompt ids, supervised ids) pairs as Examples."""
    tokens, supervised, ends, dropped, total = [], [], [], 0, 0
    for prompt, answer in pairs:
        ids = np.array([*prompt, *answer][:max_length], np.int32)
        mask = np.arange(len(ids)) >= len(prompt)
        if not (mask[:-1] & mask[1:]).any():
            dropped += 1
            continue
        tokens.append(ids)
        supervised.append(mask)
        total += len(ids)
        ends.append(total)
    if not ends:
        raise InputError(f"{where}: holds no sequence with two supervised tokens within {max_length}, expected some")
    return Examples(np.concatenate(tokens), np.concatenate(supervised), np.array(ends), dropped)


def sequences(path: Path, text: Text | None, stop_ids: tuple[int, ...], vocab_size: int) -> Iterator[tuple[list[int], list[int]]]:
    """(prompt ids, supervised ids) of every sequence in the file."""
    try:
        lines = jsonl.lines(path.read_bytes(), path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}), expected a JSONL file") from None
    for where, line in lines:
        entry = jsonl.parse(line, where)
        kind = next((kind for kind in KINDS if isinstance(entry, dict) and kind.keys() <= entry.keys()), None)
        if kind is None:
            raise InputError(f"{where}: is no training sequence, expected an object with {', or '.join(' and '.join(k) for k in KINDS)}")
        for key, expected in kind.items():
            if not isinstance(entry[key], expected):
                raise InputError(f"{where}: {key} is {json.dumps(entry[key])}, expected a {'list' if expected is list else 'text'}")
        try:
            pairs = list(_tokenize({key: entry[key] for key in kind}, text, stop_ids))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        for prompt, answer in pairs:
            for token in (*prompt, *answer):
                if type(token) is not int or not 0 <= token < vocab_size:
                    raise InputError(f"{where}: token id {token} is outside the vocabulary, expected an integer from 0 to {vocab_size - 1}")
            yield prompt, answer


def _tokenize(entry: dict, text: Text | None, stop_ids: tuple[int, ...]) -> Iterator[tuple[list[int], list[int]]]:
    if "prompt_ids" in entry:
        yield entry["prompt_ids"], entry["output_ids"]
        return
    if text is None:
        raise InputError("holds text but the target's directory has no tokenizer, expected prompt_ids and output_ids")
    if "messages" in entry:
        messages = entry["messages"]
    elif "prompt" in entry:
        messages = [{"role": "user", "content": entry["prompt"]}, {"role": "assistant", "content": entry["answer"]}]
    else:
        yield [], text.encode(entry["text"])
        return
    if not all(isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in ("role", "content")) for turn in messages):
        raise InputError("messages are malformed, expected a list of objects with role and content, both texts")
    for i, turn in enumerate(messages):
        if turn["role"] == "assistant" and i:
            yield text.encode_chat(messages[:i]), text.encode(turn["content"]) + list(stop_ids[:1])


def widths(max_length: int) -> list[int]:
    """What batches are padded to: `max_length` and its halves, in whole eights, of which none is under 128; narrowest first."""
    found = [max_length]
    while len(found) < MOST_WIDTHS and found[-1] >= 2 * LEAST_WIDTH:
        found.append(-(-found[-1] // 16) * 8)
    return found[::-1]


class Batches:
    """Batches by number: `batch(n)` is a function of the seed alone. Each epoch is a new order; the rest of an epoch is left out.

    Sequences of like length share a batch, padded to the narrowest of the `widths` that holds them: each width is a program of its own.
    `together` batches in a row, the micro-batches of an update, are of one width.
    """

    def __init__(self, examples: Examples, batch_size: int, max_length: int, seed: int, together: int = 1):
        self.examples, self.batch_size, self.max_length, self.seed = examples, batch_size, max_length, seed
        self.group = batch_size * together  # sequences
        if len(examples) < self.group:
            factors = "batch_size" if together == 1 else f"batch_size x accumulate = {batch_size} x {together}"
            raise InputError(f"the data hold {len(examples)} sequences, expected at least {factors} = {self.group}")
        self.widths = widths(max_length)
        self.fits = np.searchsorted(self.widths, self.lengths())  # of each sequence: its width's place
        self.epoch, self.order = -1, np.zeros((0, self.group), np.int64)

    def lengths(self) -> np.ndarray:
        return np.diff(self.examples.ends, prepend=0)

    def groups(self, epoch: int) -> np.ndarray:
        """The sequences of an epoch, in groups of one width -> [N // group, group]. What fills no group goes with the next wider.

        The rest is left out before lengths are looked at: else it would be the longest sequences in every epoch.
        """
        random = np.random.default_rng([self.seed, epoch])
        count = len(self.examples) // self.group
        order = random.permutation(len(self.examples))[: count * self.group]
        by_width = order[np.argsort(self.fits[order], kind="stable")]
        return random.permutation(by_width.reshape(count, self.group))

    def sample(self, count: int) -> list[int]:
        """Groups that stand for an epoch, by number: at even distances in the first one's, sorted by width."""
        by_width = np.argsort(self.fits[self.groups(0)].max(1), kind="stable")
        return by_width[(2 * np.arange(count) + 1) * len(by_width) // (2 * count)].tolist()

    def _group(self, number: int) -> tuple[np.ndarray, int]:
        """The group of batch `number`, and the batch's place in it."""
        number, place = divmod(number, self.group // self.batch_size)
        epoch, row = divmod(number, len(self.examples) // self.group)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, self.groups(epoch)
        return self.order[row], place

    def indices(self, number: int) -> np.ndarray:
        """Which examples make up batch `number`."""
        group, place = self._group(number)
        return group.reshape(-1, self.batch_size)[place]

    def width(self, number: int) -> int:
        """What batch `number` is padded to."""
        return self.widths[self.fits[self._group(number)[0]].max()]

    def batch(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """-> (tokens_BS, supervised_BS), padded on the right with token 0, which nothing sees."""
        tokens = np.zeros((self.batch_size, self.width(number)), np.int32)
        supervised = np.zeros(tokens.shape, bool)
        for row, i in enumerate(self.indices(number)):
            ids, mask = self.examples[i]
            tokens[row, : len(ids)], supervised[row, : len(ids)] = ids, mask
        return tokens, supervised
