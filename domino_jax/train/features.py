"""python -m domino_jax.train.features: writes the target's captured residuals of training sequences to files.

DIR/features.json       layer ids, counts, the length of each sequence
DIR/NNNNN.safetensors   tokens [n, S] int32, supervised [n, S] uint8, hidden [n, S, J·D] in the target's dtype

A drafter trained from them never runs the target; `--target` then only gives embeddings and head.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jax
import numpy as np
import safetensors
import safetensors.numpy

from domino_jax import checkpoint, cli
from domino_jax.config import DraftConfig
from domino_jax.engine import DTYPES, resolve_dtype
from domino_jax.errors import InputError
from domino_jax.fields import read_json
from domino_jax.text import Text, stop_ids
from domino_jax.train.data import Batches, read_examples
from domino_jax.train.drafters import capture

RECORD = "features.json"


class FeatureBatches(Batches):
    """Batches of stored sequences with their features; the same order as `Batches` of the same seed and sequences."""

    def __init__(self, directory: Path, config: DraftConfig, batch_size: int, seed: int, together: int = 1):
        self.directory, self.record = directory, read_json(directory / RECORD)
        if tuple(self.record["layer_ids"]) != config.target_layer_ids:
            raise InputError(
                f"{directory / RECORD}: layer_ids is {self.record['layer_ids']}, expected the drafter's {list(config.target_layer_ids)}"
            )
        if "lengths" not in self.record:
            raise InputError(f"{directory / RECORD}: has no lengths, expected those of its sequences; write the features again")
        self.files = [safetensors.safe_open(directory / name, framework="numpy") for name in self.record["files"]]
        super().__init__(range(self.record["sequences"]), batch_size, self.record["max_length"], seed, together)

    def lengths(self) -> np.ndarray:
        return np.array(self.record["lengths"])

    def batch(self, number: int):
        """-> (tokens_BS, supervised_BS, J features [B, S, D])."""
        rows = [(self.files[i // self.record["rows"]], i % self.record["rows"]) for i in self.indices(number).tolist()]
        width = self.width(number)
        tokens, supervised, hidden = (
            np.stack([file.get_slice(name)[row, :width] for file, row in rows]) for name in ("tokens", "supervised", "hidden")
        )
        return tokens, supervised.astype(bool), tuple(np.split(hidden, len(self.record["layer_ids"]), -1))


def layer_ids(words: str) -> tuple[int, ...]:
    """The value of `--target-layer-ids`."""
    try:
        return tuple(int(word) for word in words.replace(",", " ").split())
    except ValueError:
        raise InputError(f'--target-layer-ids is {words!r}, expected numbers such as "1 9 17"') from None


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m domino_jax.train.features", description="Writes the target's features of training sequences to files.")
    p.add_argument("--target", required=True, metavar="PATH", help="directory or hub id of the target")
    p.add_argument("--data", required=True, type=Path, metavar="FILE.jsonl", help="sequences, as for domino_jax.train")
    p.add_argument("--out", required=True, type=Path, metavar="DIR", help="a new directory")
    p.add_argument("--target-layer-ids", required=True, metavar='"1 9 17"', help="layers whose output the drafter will read")
    p.add_argument("--max-length", type=cli.number(2), default=3072, metavar="N", help="sequences are cut here; default 3072")
    p.add_argument("--batch-size", type=cli.number(1), default=8, metavar="N", help="sequences a pass and a file; default 8")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    ids = layer_ids(arguments.target_layer_ids)
    opened = checkpoint.open_target(arguments.target)
    if not ids or not all(0 <= i < opened.config.num_hidden_layers for i in ids):
        raise InputError(f"--target-layer-ids is {list(ids)}, expected numbers from 0 to {opened.config.num_hidden_layers - 1}")
    if arguments.out.exists():
        raise InputError(f"{arguments.out}: exists already, expected a new directory")
    text = Text.load(opened.directory)
    stops = stop_ids(opened.directory, text)
    examples = read_examples(arguments.data, text, stops, opened.config.vocab_size, arguments.max_length)
    target = checkpoint.load(opened, resolve_dtype(arguments.dtype), cli.transfer("loading"))
    write(arguments.out, target, ids, examples, arguments.batch_size, arguments.max_length)
    return cli.DONE


def write(out: Path, target, ids: tuple[int, ...], examples, rows: int, max_length: int) -> None:
    out.mkdir(parents=True)
    compiled = jax.jit(partial(capture, layer_ids=ids))
    names = []
    for first in cli.progress("features")(range(0, len(examples), rows), -(-len(examples) // rows)):
        tokens, supervised = np.zeros((rows, max_length), np.int32), np.zeros((rows, max_length), np.uint8)
        count = min(rows, len(examples) - first)
        for row in range(count):
            ids_S, mask_S = examples[first + row]
            tokens[row, : len(ids_S)], supervised[row, : len(ids_S)] = ids_S, mask_S
        hidden = np.concatenate([np.asarray(feature) for feature in compiled(target, tokens_BS=tokens)], -1)
        names.append(f"{len(names):05}.safetensors")
        arrays = {"tokens": tokens[:count], "supervised": supervised[:count], "hidden": np.ascontiguousarray(hidden[:count])}
        safetensors.numpy.save_file(arrays, out / names[-1])
    lengths = np.diff(examples.ends, prepend=0).tolist()
    counts = {"max_length": max_length, "sequences": len(examples), "lengths": lengths, "rows": rows}
    record = {"layer_ids": list(ids), **counts, "files": names}
    (out / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")  # last: without it nothing is loaded


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
