"""python -m convert.checkpoint: a published target and drafter become one directory of Orbax arrays; --inspect shows a checkpoint."""

import argparse
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import domino_jax
from domino_jax import checkpoint, cli, directories, orbax_store
from domino_jax.checkpoint import Checkpoint
from domino_jax.config import check_pair
from domino_jax.engine import DTYPES
from domino_jax.errors import InputError
from domino_jax.text import Text, stop_ids

COPIED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
          "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json")  # fmt: skip


def parser() -> cli.Parser:
    p = cli.Parser(
        prog="python -m convert.checkpoint",
        description="Converts Hugging Face checkpoints to Orbax: DST/target and DST/draft, each with arrays, config and, for the target, "
        "tokenizer. Atomic: DST is complete or absent. python -m domino_jax.generate reads either layout.",
    )
    p.add_argument("--target", metavar="SRC", help="directory or hub id of a Qwen3 model")
    p.add_argument("--draft", metavar="SRC", help="directory or hub id of a DFlash or Domino drafter; either alone is fine")
    p.add_argument("--out", metavar="DST", help="directory to make")
    p.add_argument("--dtype", choices=list(DTYPES), help="store as; default as in the files")
    p.add_argument("--force", action="store_true", help="replace DST if it exists; default off")
    p.add_argument("--verify", action="store_true", help="read DST back and compare with the source, bit for bit; default off")
    p.add_argument("--inspect", metavar="SRC", help="print what a checkpoint is and whether it would load, and convert nothing")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    p.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


def refuse_contradictions(arguments: argparse.Namespace) -> None:
    converting = arguments.target or arguments.draft or arguments.out or arguments.dtype or arguments.force or arguments.verify
    for wrong, message in (
        (arguments.inspect and converting, "--inspect is given with options of a conversion, expected it alone"),
        (
            not arguments.inspect and not (arguments.target or arguments.draft),
            "--target and --draft are missing, expected at least one of them (or --inspect)",
        ),
        (not arguments.inspect and not arguments.out, "--out is missing, expected the directory to make"),
    ):
        if wrong:
            raise InputError(message)


def inspect(name: str) -> None:
    """Prints a checkpoint. Raises InputError, after what could be printed, if it would not load."""
    directory = checkpoint.locate(name)
    print(f"directory   {directory}")
    source = checkpoint.open_source(directory)
    print(f"format      {source.format}")
    count = sum(math.prod(shape) for shape in source.shapes.values())
    stored = sum(math.prod(shape) * source.dtypes[tensor].itemsize for tensor, shape in source.shapes.items())
    dtypes = Counter(dtype.name for dtype in source.dtypes.values())
    print(f"parameters  {count:,} in {len(source.shapes)} tensors, {stored:,} bytes")
    print(f"dtype       {', '.join(f'{dtype} ({number} tensors)' for dtype, number in dtypes.items())}")
    print("tensors")
    for tensor in sorted(source.shapes):
        print(f"  {tensor}  {source.dtypes[tensor].name} {list(source.shapes[tensor])}")
    opened = checkpoint.open_any(directory)
    print(f"kind        {opened.kind}")
    for field in fields(opened.config):
        print(f"config      {field.name} = {getattr(opened.config, field.name)}")
    if opened.kind == "target":
        text = Text.load(directory)
        print(f"tokenizer   {'none' if text is None else type(text.tokenizer).__name__}")
        print(f"stop ids    {list(stop_ids(directory, text))}")
    for note in opened.notes:
        print(f"ignored     {note}")
    print("complete: nothing is missing or unexpected; it loads")


def open_sources(arguments: argparse.Namespace) -> dict[str, Checkpoint]:
    """What is to be converted, by the name it gets in DST. Raises InputError for what does not load or fit together."""
    opened = {}
    if arguments.target:
        opened["target"] = checkpoint.open_target(arguments.target)
    if arguments.draft:
        opened["draft"] = draft = checkpoint.open_draft(arguments.draft)
        shared = checkpoint.must_share(draft)
        if "target" in opened:
            check_pair(opened["target"].config, draft.config, str(draft.directory / "config.json"))
            opened["draft"] = checkpoint.share(draft, opened["target"])
        elif shared:
            raise InputError(f"{draft.directory}: holds {', '.join(shared)}, expected also --target to compare them with")
    return opened


def destination(name: str, force: bool, sources: Iterable[Checkpoint]) -> Path:
    """Where DST will be. Raises InputError if it may not be replaced."""
    out = Path(os.path.abspath(os.path.expanduser(name)))
    if out.exists() and not force:
        raise InputError(f"{out}: exists already, expected a new directory (or --force to replace it)")
    for source in sources:
        if source.directory.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{out}: holds the source {source.directory}, expected another directory (--force would delete the source)")
    return out


def convert(arguments: argparse.Namespace) -> None:
    """Builds DST beside itself and renames it: an interrupted conversion leaves no DST and loses none."""
    opened = open_sources(arguments)
    out = destination(arguments.out, arguments.force, opened.values())
    dtype = DTYPES[arguments.dtype] if arguments.dtype else None
    with directories.built(out) as building:
        for name, source in opened.items():
            write(source, building / name, dtype)
            if arguments.verify:
                verify(source, building / name, dtype)
    for name, source in opened.items():
        dtypes = {dtype.name for dtype in orbax_store.OrbaxDirectory(out / name).dtypes.values()}
        verified = ", read back and equal" if arguments.verify else ""
        cli.say(f"{source.kind}: {len(source.rows)} arrays in {out / name}, stored as {', '.join(sorted(dtypes))}{verified}")


def write(source: Checkpoint, directory: Path, dtype: jnp.dtype | None) -> None:
    directory.mkdir()
    for name in COPIED if source.kind == "target" else COPIED[:1]:
        if (source.directory / name).exists():
            shutil.copyfile(source.directory / name, directory / name)
    for note in source.notes:
        cli.say(f"note: {note}")
    if dtype is None and "float64" in source.stored_dtypes:
        cli.say("note: float64 tensors are written as float32")
    orbax_store.save(directory, cli.progress(f"converting {source.kind}")(source.parameters(dtype), len(source.rows)))


def verify(source: Checkpoint, directory: Path, dtype: jnp.dtype | None) -> None:
    """Raises RuntimeError if a written array differs in a single bit from its source."""
    written = orbax_store.OrbaxDirectory(directory).parameters(source.rows, None)
    for (path, ours), (_, theirs) in zip(source.parameters(dtype), written, strict=True):
        if ours.dtype != theirs.dtype or np.asarray(ours).tobytes() != np.asarray(theirs).tobytes():
            raise RuntimeError(f"{directory}: {path} was read back different from what was written")


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_contradictions(arguments)
    jax.config.update("jax_platforms", "cpu")  # an accelerator has no part in this, and its memory may be too small
    if arguments.inspect:
        inspect(arguments.inspect)
    else:
        convert(arguments)
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
