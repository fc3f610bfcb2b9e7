"""python -m domino_jax.train.tasks: writes prompts of everyday use for a target to answer (`domino_jax.train.regenerate`).

One object a line: {"prompt" or "messages", "kind"}. The file is a function of the arguments and the files they name alone. Prompts that
are excluded are not made up for: N prompts and those added, less what was dropped, are written.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from domino_jax import cli
from domino_jax.directories import write_file
from domino_jax.errors import InputError
from domino_jax.train.tasks.kinds import generate
from domino_jax.train.tasks.overlap import Excluded
from domino_jax.train.tasks.texts import Source, source, texts


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m domino_jax.train.tasks", description="Writes prompts of everyday use, made of own templates.")
    p.add_argument("--count", required=True, type=cli.number(0), metavar="N", help="different prompts to make; 0 with --add makes none")
    p.add_argument("--seed", type=cli.number(0), default=0, metavar="N", help="other seeds, other prompts; default 0")
    p.add_argument("--out", required=True, type=Path, metavar="FILE.jsonl", help="made or replaced, complete or not at all")
    p.add_argument("--add", action="append", default=[], type=source, metavar="FILE[:KEY]", help="prompts of a JSONL file; KEY is prompt")
    p.add_argument("--exclude", action="append", default=[], type=source, metavar="FILE[:KEY]", help="drops what shares 13 words with it")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def added(files: Iterable[Source]) -> list[dict]:
    """Their prompts, of a conversation the first turn; a text that comes again counts once, for the first file."""
    found: dict[str, dict] = {}
    for file in files:
        for first, *_ in texts(file):
            found.setdefault(first, {"prompt": first, "kind": file.stem})
    return list(found.values())


def shuffled(entries: list[dict], seed: int) -> list[dict]:
    random = Random(f"order {seed}")
    places = [random.random() for _ in entries]
    return [entries[i] for i in sorted(range(len(entries)), key=places.__getitem__)]


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    more = added(arguments.add)
    made = generate(arguments.count, arguments.seed)
    entries = shuffled(Excluded(arguments.exclude).kept([*made, *more]), arguments.seed)
    if not entries:
        raise InputError(f"--count is {arguments.count} and no prompt of --add is left, expected some prompts to write")
    write_file(arguments.out, "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries))
    counts = Counter(entry["kind"] for entry in entries)
    cli.say(f"{len(entries)} prompts in {arguments.out}: " + ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
