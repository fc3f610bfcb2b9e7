"""How many proposals a round are fastest: `--num-proposals auto` reads it off a table that `python -m bench.proposals` measured.

A wider verify pass accepts more and takes longer. What one position more costs is the device's and the batch's, what it brings is
the drafter's and the text's: so the pair is measured where it runs, and the table is kept beside the drafter's weights.
"""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import jax

from domino_jax.engine import Pair
from domino_jax.errors import InputError
from domino_jax.fields import Fields, read_json, said

TABLE = "proposals.json"  # in a drafter's directory


@dataclass(frozen=True)
class Row:
    """What was measured with one number of proposals; 0 is the step program, which has no drafter."""

    device: str
    dtype: str
    batch_size: int
    num_proposals: int
    tokens_per_second: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What no other row of a table has."""
        return self.device, self.dtype, self.batch_size, self.num_proposals


def device() -> str:
    """The first device by name; a CPU by its cores too, which decide what a position more costs."""
    kind = jax.devices()[0].device_kind
    return f"{kind}, {os.cpu_count()} cores" if jax.default_backend() == "cpu" else kind


def read(path: Path, most: int) -> list[Row]:
    """The rows of a table. Raises InputError for what is no table, or has more proposals than `most`, those of the block."""
    entries = read_json(path).get("rows")
    if not isinstance(entries, list):
        raise InputError(f"{path}: rows is {said(entries)}, expected a list of objects")
    rows = {}
    for number, entry in enumerate(entries, 1):
        row = _row(entry, f"{path}, row {number}", most)
        if row.key in rows:
            raise InputError(f"{path}, row {number}: is there twice ({said(entry)}), expected one row for each number of proposals")
        rows[row.key] = row
    return list(rows.values())


def _row(entry: object, where: str, most: int) -> Row:
    if not isinstance(entry, dict):
        raise InputError(f"{where}: is {said(entry)}, expected an object")
    fields = Fields(entry, where)
    return Row(
        fields.text("device"),
        fields.text("dtype"),
        fields.integer("batch_size"),
        fields.integer("num_proposals", 0, most),
        fields.number("tokens_per_second"),
    )


def fastest(pair: Pair, batch: int) -> Pair:
    """The pair with as many proposals a round as were fastest here, and a note of it that says also where none would be faster.

    Of the batch sizes measured it goes by the largest that is not above `batch`, or else by the smallest. Raises InputError where
    nothing was measured.
    """
    rows = measured_here(pair)
    sizes = {row.batch_size for row in rows if row.num_proposals}
    size = max((size for size in sizes if size <= batch), default=min(sizes))
    steps, rounds = ([row for row in rows if row.batch_size == size and bool(row.num_proposals) is drafted] for drafted in (False, True))
    best = max(rounds, key=lambda row: row.tokens_per_second)
    note = f"--num-proposals auto: {best.num_proposals}, the fastest at batch {size} ({best.tokens_per_second:,.0f} tokens/s)"
    for step in steps:
        if step.tokens_per_second > best.tokens_per_second:
            note += f"; --draft none is faster there ({step.tokens_per_second:,.0f})"
    return pair.with_proposals(best.num_proposals, note)


def measured_here(pair: Pair) -> list[Row]:
    """The rows of the drafter's table that were measured on such a device in the pair's dtype. Raises InputError where there are none."""
    path, here = pair.draft.directory / TABLE, (device(), pair.dtype.name)
    if not path.exists():
        raise InputError(f"--num-proposals auto: {path} is missing, expected what `{measuring(pair)}` writes there")
    rows = read(path, pair.draft.config.max_proposals)
    found = [row for row in rows if (row.device, row.dtype) == here]
    if not any(row.num_proposals for row in found):
        others = "; ".join(sorted({f"{row.device}, {row.dtype}" for row in rows})) or "nothing"
        raise InputError(f"{path}: holds {others}, expected {', '.join(here)} with proposals, which `{measuring(pair)}` measures")
    return found


def measuring(pair: Pair) -> str:
    """The command that measures it here."""
    models = "--target", str(pair.target.directory), "--draft", str(pair.draft.directory), "--dtype", pair.dtype.name
    return shlex.join(["python", "-m", "bench.proposals", *models])
