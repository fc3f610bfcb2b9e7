"""The shipped pair and everything that made it: word problems, a target that solves them, drafters that guess ahead. README.md beside this
file is the model card."""

from pathlib import Path

DIRECTORY = Path(__file__).parent
TARGET = str(DIRECTORY / "target")
DRAFT = str(DIRECTORY / "draft")  # Domino
DFLASH = str(DIRECTORY / "dflash")  # the same without the head, for comparison
