"""python -m bench.report: tables and pictures of what the benches measured, from the JSON that they kept. It measures nothing.

python -m bench.report                                    rollout_*, decode_*, attention_*, coldstart_* and serve_*.json of bench/results
python -m bench.report decode_a.json --out pictures       another file, and its picture, pictures/decode_a.svg
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench import attention, cells, coldstart, decode_tables, pictures, rollout
from domino_jax import cli
from domino_jax.errors import InputError

RESULTS = Path(__file__).parent / "results"
ROUND = {
    "block pass": "block pass of the drafter",
    "base logits": "base logits",
    "rollout": "rollout, base logits included",
    "draft": "draft program: block pass and rollout",
    "verify": "verify program: target pass and acceptance",
    "round": "a whole round",
    "step": "step program (no drafter), a token",
}


class Kind(NamedTuple):
    """How what a bench kept is shown. `holds`: the key of the list without which nothing is."""

    holds: str
    markdown: Callable[[dict], str]
    draw: Callable[[dict, Path], None] | None


def decode(about: dict) -> str:
    """The round as the README has it, a case a column; every part against its limit; PyTorch; what it all means."""
    rows = about["rows"]
    lines = [decode_tables.title(about), "", *round_table(rows), "", *limit_table(rows), ""]
    if "torch_agreement" in about:
        lines += [*decode_tables.beside_torch(rows), "", *decode_tables.agreement(about)]
    lines += [f"* not measured: {case}: {reason}." for case, reason in about["not_measured"].items()]
    return "\n".join([*lines, *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items())])


def round_table(rows: Sequence[dict]) -> list[str]:
    columns = ["milliseconds", *pictures.names(rows)]
    lines = [[said, *(f"{row['median'][part]:.2f}" for row in rows)] for part, said in ROUND.items()]
    lines.insert(-1, ["host gap of a round", *(f"{row['host_gap']:.1%}" for row in rows)])
    lines.append(["acceptance length from which speculation pays", *(f"{row['even_at']:.2f}" for row in rows)])
    return decode_tables.table(columns, lines)


def limit_table(rows: Sequence[dict]) -> list[str]:
    """What each part takes, could take at best, and the ratio."""
    lines = []
    for row, name in zip(rows, pictures.names(rows), strict=True):
        for part in ROUND:
            took, least = row["median"][part], row["limit"][part]
            lines.append([f"{part}, {name}", f"{took:.3f}", f"{least:.3f}", f"{took / least:.2f}", f"{row['of_bandwidth'][part]:.0%}"])
    return decode_tables.table(["", "measured ms", "limit ms", "ratio", "of bandwidth"], lines)


def table_of(markdown: Callable[[dict, Sequence[dict]], str]) -> Callable[[dict], str]:
    return lambda about: markdown(about, about["rows"])


KINDS = {
    "rollout": Kind("rows", table_of(rollout.markdown), pictures.rollout),
    "decode": Kind("rows", decode, pictures.decode),
    "attention": Kind("rows", table_of(attention.markdown), None),
    "coldstart": Kind("rows", table_of(coldstart.markdown), None),
    "serve": Kind("cells", lambda about: cells.markdown(*cells.split(about)), lambda about, path: cells.plot(*cells.split(about), path)),
}


def read(path: Path) -> dict:
    """What a bench kept. Raises InputError for a file that none wrote."""
    expected = f"JSON that {', '.join(f'bench.{kind}' for kind in KINDS)} wrote"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}), expected {expected}") from None
    if not isinstance(about, dict) or about.get("bench") not in [*KINDS]:
        raise InputError(f"{path}: is JSON of another kind, expected {expected}")
    if not isinstance(about.get(KINDS[about["bench"]].holds), list):
        raise InputError(f"{path}: has no {KINDS[about['bench']].holds}, expected {expected}")
    return about


def drawn(about: dict) -> dict:
    """What a picture shows: all but what failed."""
    holds = KINDS[about["bench"]].holds
    return about | {holds: [one for one in about[holds] if "error" not in one]}


def kept() -> list[Path]:
    found = [path for kind in KINDS for path in sorted(RESULTS.glob(f"{kind}_*.json"))]
    if not found:
        raise InputError(f"{RESULTS}: has no {', '.join(f'{kind}_*.json' for kind in KINDS)}, expected files that the benches kept")
    return found


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.report", description="Tables and pictures of what the benches kept.")
    p.add_argument("files", type=Path, nargs="*", metavar="FILE.json", help="default all that the benches keep in bench/results")
    p.add_argument(
        "--out", type=Path, metavar="DIR", help="draw a picture of each file there, with the file's name (extra: plot); default none"
    )
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    if arguments.out and not arguments.out.is_dir():
        raise InputError(f"--out {arguments.out}: is not a directory, expected one for the pictures")
    if arguments.out and importlib.util.find_spec("matplotlib") is None:
        raise InputError("matplotlib is not installed, expected it: pip install matplotlib (or the extra plot)")
    for path, about in [(path, read(path)) for path in arguments.files or kept()]:
        kind, shown = KINDS[about["bench"]], drawn(about)
        print(f"### {path.name}\n\n{kind.markdown(about)}\n")
        if arguments.out and kind.draw and shown[kind.holds]:
            kind.draw(shown, arguments.out / f"{path.stem}.svg")
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
