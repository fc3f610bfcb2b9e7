"""Which prompts repeat a text that they must not: an evaluation set's, above all.

Two texts overlap when they share a run of 13 words, lower-cased and without punctuation (the rule by which GPT-3's and many later training
sets were cleaned), or when the prompt is shorter than that and is the whole text. Of a conversation each turn is a text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from domino_jax import cli
from domino_jax.train.tasks.texts import Source, texts

RUN = 13  # words
WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.lower()))


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of RUN words; all words, where there are fewer."""
    found = words(text)
    return {found[start : start + RUN] for start in range(max(len(found) - RUN, 0) + 1)}


class Excluded:
    """Runs of the texts of several files, which are read at once: a bad one is refused before there is anything to drop."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.files: dict[tuple[str, ...], str] = {}  # run -> the first file that has it
        for file in sources:
            for run in (run for line in texts(file) for text in line for run in runs(text)):
                self.files.setdefault(run, str(file.path))

    def file_of(self, prompt: dict) -> str | None:
        """The file with which a prompt overlaps, or None."""
        turns = [turn["content"] for turn in prompt.get("messages", ())] or [prompt["prompt"]]
        return next((self.files[run] for turn in turns for run in sorted(runs(turn)) if run in self.files), None)

    def kept(self, entries: Iterable[dict]) -> list[dict]:
        """Those that overlap with no file; says how many do."""
        dropped, left = Counter(), []
        for entry in entries:
            if (file := self.file_of(entry)) is None:
                left.append(entry)
            else:
                dropped[file] += 1
        for file in self.sources:
            cli.say(f"dropped {dropped[str(file.path)]} prompts that overlap with {file.path}")
        return left
