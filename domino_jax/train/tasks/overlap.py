"""Which prompts repeat a text that they must not: an evaluation set's, above all.

Two texts overlap when they share a run of 13 words, lower-cased and without punctuation (the rule by which GPT-3's and many later training
sets were cleaned), or when the prompt is shorter than that and is the whole text. Of a conversation each turn is a text.
"""

import re
from collections.abc import Iterable

RUN = 13  # words
WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.lower()))


def runs(text: str) -> set[tuple[str, ...]]:
    """All runs of RUN words; all words, where there are fewer."""
    found = words(text)
    return {found[start : start + RUN] for start in range(max(len(found) - RUN, 0) + 1)}


class Excluded:
    """Runs of the texts of several files."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, ...], str] = {}  # run -> the first file that has it

    def add(self, file: str, texts: Iterable[str]) -> None:
        for text in texts:
            for run in runs(text):
                self.files.setdefault(run, file)

    def file_of(self, prompt: dict) -> str | None:
        """The file with which a prompt overlaps, or None."""
        turns = [turn["content"] for turn in prompt.get("messages", ())] or [prompt["prompt"]]
        return next((self.files[run] for turn in turns for run in sorted(runs(turn)) if run in self.files), None)
