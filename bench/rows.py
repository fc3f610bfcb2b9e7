"""The rows of a table: each is kept as soon as it is measured, and one that fails costs no other."""

import argparse
import json
import traceback
from collections.abc import Callable, Sequence

from domino_jax import cli


def collect(label: str, cases: Sequence[dict], measure: Callable[..., dict], about: dict, arguments: argparse.Namespace) -> list[dict]:
    """A row for each case, with what `measure` finds, or with the `error` for which it finds nothing. --json is written after each."""
    rows = []
    for case in cli.progress(label)(cases, len(cases)):
        try:
            rows.append(case | measure(**case))
        except Exception as error:
            rows.append(case | {"error": reason(error, arguments.debug)})
        if arguments.json:
            arguments.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return rows


def reason(error: Exception, debug: bool) -> str:
    """Why something failed, in a line; with `debug` the traceback goes to stderr."""
    if debug:
        traceback.print_exception(error)
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def failures(rows: Sequence[dict]) -> list[str]:
    """What failed and why, a line a row."""
    failed = [(row["error"], [f"{name} {value}" for name, value in row.items() if name != "error"]) for row in rows if "error" in row]
    return [f"{', '.join(case)}: {error}" for error, case in failed]
