"""The rows of a table: each is kept as soon as it is measured, and one that fails costs no other."""

import argparse
import importlib.util
import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from domino_jax import cli
from domino_jax.directories import write_file
from domino_jax.errors import InputError


def refuse_impossible(arguments: argparse.Namespace) -> None:
    """Raises InputError for what would fail only when much is measured: a --json that cannot be, a baseline that is not installed."""
    if arguments.json and (arguments.json.is_dir() or not arguments.json.parent.is_dir()):
        raise InputError(f"--json {arguments.json}: is a directory or in none, expected a file to write")
    if getattr(arguments, "baseline", None) and importlib.util.find_spec("torch") is None:
        raise InputError("--baseline torch is given and PyTorch is not installed, expected it: pip install torch")


def collect(label: str, cases: Sequence[dict], measure: Callable[..., dict], about: dict, arguments: argparse.Namespace) -> list[dict]:
    """A row for each case, with what `measure` finds, or with the `error` for which it finds nothing. --json is written after each."""
    rows = []
    for case in cli.progress(label)(cases, len(cases)):
        try:
            rows.append(case | measure(**case))
        except Exception as error:
            rows.append(case | {"error": reason(error, arguments.debug)})
        keep(about | {"rows": rows}, arguments.json)
    return rows


def keep(found: dict, path: Path | None) -> None:
    """Writes what was found so far; what was there stays until all of it is written."""
    if path:
        write_file(path, json.dumps(found, indent=1) + "\n")


def reason(error: Exception, debug: bool) -> str:
    """Why something failed, in a line; with `debug` the traceback goes to stderr."""
    if debug:
        traceback.print_exception(error)
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def failures(rows: Sequence[dict]) -> list[str]:
    """What failed and why, a line a row."""
    failed = [(row["error"], [f"{name} {value}" for name, value in row.items() if name != "error"]) for row in rows if "error" in row]
    return [f"{', '.join(case)}: {error}" for error, case in failed]
