"""python -m convert.checkpoint: a target and a drafter from any layout to another; --inspect shows a checkpoint."""

import argparse
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import domino_jax
from domino_jax import checkpoint, cli, directories, orbax_store, pairing, proposals, publish
from domino_jax.checkpoint import Checkpoint
from domino_jax.config import check_pair
from domino_jax.engine import DTYPES
from domino_jax.errors import InputError
from domino_jax.fields import read_json
from domino_jax.formats import HUGGING_FACE, format_of
from domino_jax.tensors import cast
from domino_jax.text import Text, stop_ids

Parameters = Iterable[tuple[str, jax.Array]]
Dtype = jnp.dtype | None  # to store as; None: as in the source
TEXTS = ("generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
          "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json")  # fmt: skip


def parser() -> cli.Parser:
    p = cli.Parser(
        prog="python -m convert.checkpoint",
        description="Converts checkpoints of any layout: DST/target and DST/draft, each with arrays, config and, for a target, tokenizer. "
        "Atomic: DST is complete or absent. python -m domino_jax.generate reads every layout.",
    )
    p.add_argument("--target", metavar="SRC", help="directory or hub id of a Qwen3, Qwen2.5 or Llama 3 model")
    p.add_argument("--draft", metavar="SRC", help="directory or hub id of a DFlash or Domino drafter; either alone is fine")
    p.add_argument("--out", metavar="DST", help="directory to make")
    p.add_argument(
        "--to",
        choices=list(WRITERS),
        default="orbax",
        help="layout of DST: our own, the published one, or speculators' (drafts); default orbax",
    )
    p.add_argument("--dtype", choices=list(DTYPES), help="store as; default as in the files")
    p.add_argument("--force", action="store_true", help="replace DST if it exists; default off")
    p.add_argument("--verify", action="store_true", help="read DST back and compare with the source, bit for bit; default off")
    p.add_argument("--allow-nonfinite", action="store_true", help="convert weights that are NaN or infinite as they are; default off")
    p.add_argument("--inspect", metavar="SRC", help="print what a checkpoint is and whether it would load, and convert nothing")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    p.add_argument("--version", action="version", version=f"domino_jax {domino_jax.__version__}")
    return p


def refuse_contradictions(arguments: argparse.Namespace) -> None:
    options = ("target", "draft", "out", "dtype", "force", "verify", "allow_nonfinite")
    converting = any(getattr(arguments, name) for name in options) or arguments.to != "orbax"
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
    if opened.kind != "target":
        print(f"layout      {format_of(read_json(directory / 'config.json')).name}")
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
        if "target" in opened:
            check_pair(opened["target"].config, draft.config, str(draft.directory / "config.json"))
            opened["draft"] = checkpoint.share(draft, opened["target"])
        elif shared := checkpoint.must_share(draft):
            raise InputError(f"{draft.directory}: holds {', '.join(shared)}, expected also --target to compare them with")
        elif arguments.to == "speculators" and not (draft.config.own_embedding and draft.config.own_head):
            raise InputError(
                "--to speculators is given without --target, expected the target too: its embedding and head go into the draft"
            )
    return opened


def destination(name: str, force: bool, sources: Iterable[Checkpoint], dtype: Dtype) -> Path:
    """Where DST will be. Raises InputError if it may not be replaced, or if the disk has no room for it."""
    out = Path(os.path.abspath(os.path.expanduser(name)))
    try:
        os.fsencode(out).decode()
    except UnicodeDecodeError:  # what writes the arrays takes no other names
        raise InputError(f"{out}: is not UTF-8, expected a name that is") from None
    if os.path.lexists(out) and not force:
        raise InputError(f"{out}: exists already, expected a new directory (or --force to replace it)")
    for source in sources:
        if source.directory.resolve().is_relative_to(os.path.realpath(out)):
            raise InputError(f"{out}: holds the source {source.directory}, expected another directory (--force would delete the source)")
    there = next(path for path in out.parents if os.path.exists(path))
    needed, free = sum(source.bytes(dtype) for source in sources), shutil.disk_usage(there).free
    if needed > free:
        raise InputError(f"{there}: has {free:,} bytes free, expected at least {needed:,} for {out.name}")
    return out


def convert(arguments: argparse.Namespace) -> None:
    """Builds DST beside itself and renames it: an interrupted conversion leaves no DST and loses none."""
    opened = open_sources(arguments)
    dtype = DTYPES[arguments.dtype] if arguments.dtype else None
    out = destination(arguments.out, arguments.force, opened.values(), dtype)
    with directories.built(out, replace=arguments.force) as building:
        for name, source in opened.items():
            for note in source.notes:
                cli.say(f"note: {note}")
            (building / name).mkdir()
            copy_files(source, building / name)
            parameters = cli.transfer(f"converting {source.kind}")(source.parameters(dtype), source.bytes(dtype))
            if not arguments.allow_nonfinite:
                parameters = finite(source, parameters)
            WRITERS[arguments.to](building / name, source, opened.get("target"), parameters, dtype)
            if arguments.verify:
                verify(source, building / name, dtype)
    for name, source in opened.items():
        dtypes = checkpoint.open_any(out / name).stored_dtypes
        verified = ", read back and equal" if arguments.verify else ""
        cli.say(f"{source.kind}: {len(source.rows)} arrays in {out / name}, stored as {', '.join(dtypes)}{verified}")


def copy_files(source: Checkpoint, directory: Path) -> None:
    """Tokenizer and generation settings of a target, what was measured of a drafter. A writer adds config.json."""
    for name in TEXTS if source.kind == "target" else (proposals.TABLE,):
        if (source.directory / name).exists():
            shutil.copyfile(source.directory / name, directory / name)


def finite(source: Checkpoint, parameters: Parameters) -> Parameters:
    """The same. Raises InputError at the first that holds NaN or infinity."""
    for row, (path, array) in zip(source.rows, parameters, strict=True):
        if jnp.issubdtype(array.dtype, jnp.floating) and not jnp.isfinite(array).all():
            names = [name for name, part in zip(row.sources, row.unpack(array), strict=True) if not jnp.isfinite(part).all()]
            raise InputError(
                f"{source.directory}: {', '.join(names)} holds NaN or infinity, expected finite numbers (or --allow-nonfinite)"
            )
        yield path, array


def write_orbax(directory: Path, source: Checkpoint, target: Checkpoint | None, parameters: Parameters, dtype: Dtype) -> None:
    """Our own layout, with the source's config.json as it is; a drafter remembers the target beside which it was converted."""
    shutil.copyfile(source.directory / "config.json", directory / "config.json")
    if dtype is None and "float64" in source.stored_dtypes:
        cli.say("note: float64 tensors are written as float32")
    about = {"origin": str(source.directory)}
    if target and source is not target:
        about["target"] = {"name": str(target.directory), "fingerprint": pairing.fingerprint(target)}
    orbax_store.save(directory, parameters, **about)


def write_hugging_face(directory: Path, source: Checkpoint, target: Checkpoint | None, parameters: Parameters, dtype: Dtype) -> None:
    """The published layout, which serving engines load."""
    raw = read_json(source.directory / "config.json")
    publish.hugging_face(directory, source.config, parameters, stored(source, dtype), raw if format_of(raw) is HUGGING_FACE else None)


def write_speculators(directory: Path, source: Checkpoint, target: Checkpoint | None, parameters: Parameters, dtype: Dtype) -> None:
    """A drafter complete in itself; a target has only the published layout."""
    if source is target:
        return write_hugging_face(directory, source, target, parameters, dtype)
    if source.config.domino:
        cli.say("note: Domino in speculators' format is not yet merged there; the names are those of its pull request")
    return publish.speculators(
        directory, source.config, parameters, stored(source, dtype), target.config, str(target.directory), shared(source, target, dtype)
    )


WRITERS = {"orbax": write_orbax, "hf": write_hugging_face, "speculators": write_speculators}


def shared(draft: Checkpoint, target: Checkpoint, dtype: Dtype) -> Iterator[tuple[str, np.ndarray]]:
    """The target's embedding and head that the drafter reads, under their published names."""
    embedder = checkpoint.read_embedder(target)
    for name, own in checkpoint.SHARED.items():
        if not getattr(draft.config, own):
            tied = name == "embed_tokens.weight" or embedder.head_VD is None
            yield name, np.asarray(cast((embedder.embed_VD if tied else embedder.head_VD)[...], dtype))


def stored(source: Checkpoint, dtype: Dtype) -> str:
    """The dtype that config.json names."""
    return dtype.name if dtype else source.stored_dtypes[0]


def verify(source: Checkpoint, directory: Path, dtype: Dtype) -> None:
    """Raises RuntimeError if a written array differs in a single bit from its source."""
    written = checkpoint.open_any(directory).source.parameters(source.rows, None)
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
