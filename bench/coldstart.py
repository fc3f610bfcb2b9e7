"""python -m bench.coldstart: from the start of a process to the first token, part by part, with a warm compilation cache.

    python -m bench.coldstart --json OUT.json                                       the shipped pair
    python -m bench.coldstart --shapes 8b --directory DIR --json OUT.json           Qwen3-8B's shapes; makes 18 GB of random weights in DIR
    python -m bench.coldstart --target Qwen3-8B --draft Qwen3-8B-Domino-b16         a pair of yours

Every start is a process of its own (`one_start.py`). The first fills the compilation cache and is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import jax

from bench import random_checkpoint
from bench.decode_tables import table
from bench.rows import keep, refuse_impossible
from bench.timing import environment, headline
from domino_jax import cli, demo, memory
from domino_jax.engine import DTYPES
from domino_jax.errors import InputError

READ_BYTES = 1 << 24
PARTS = ("interpreter and imports", "device", "opening", "load", "compile", "first token")
CONVENTIONS = {
    "parts": "seconds, one after the other from the start of the process; median of the starts, each a process of its own. Their sum is "
    "the median of the totals only roughly",
    "load": "from opened checkpoints to all weights on the device; the programs are loaded from the compilation cache meanwhile, in a "
    "thread of their own",
    "compile": "what is still to wait for when the weights are there; `programs` is what they took in all, tracing and lowering included",
    "first token": "the caches' allocation, prefill, and the way of the token to the host",
    "page cache": "warm: the weights' files were read just before. Dropped: the system was asked to forget their pages (posix_fadvise), "
    "which a virtual disk's host may not do",
    "disk": "those files read once in pieces of 16 MiB by one thread, in that state",
    "to the device": "one array of 256 MiB, best of three",
    "peak": "the device's own count up to the first token (peak_bytes_in_use); predicted: weights, caches and working memory as the plan "
    "reckons them before anything runs",
}


def start(words: Sequence[str]) -> dict:
    """One process, with the seconds of each part."""
    began = time.monotonic()
    ran = subprocess.run([sys.executable, "-m", "bench.one_start", *words], capture_output=True, text=True)
    if ran.returncode:
        raise InputError(f"bench.one_start ended with {ran.returncode}: {(ran.stderr.strip().splitlines() or ['nothing said'])[-1]}")
    found = json.loads(ran.stdout.splitlines()[-1])
    seconds, last = {}, began
    for part in PARTS:
        seconds[part], last = found["done"][part] - last, found["done"][part]
    programs = sum(one["seconds"] for one in found["compiled"])
    return found | {"seconds": seconds | {"total": last - began, "programs": programs}}


def files_of(directories: Sequence[str]) -> list[Path]:
    return [path for directory in directories for path in sorted(Path(directory).glob("*.safetensors"))]


def forget(files: Sequence[Path]) -> None:
    """Asks the system to drop the pages of these files."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())  # what is not on disk yet cannot be dropped
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_rate(files: Sequence[Path]) -> float:
    """Bytes a second of reading them through."""
    began, size, piece = time.perf_counter(), 0, bytearray(READ_BYTES)
    for path in files:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(piece):
                size += count
    return size / (time.perf_counter() - began)


def measure(state: str, files: Sequence[Path], words: Sequence[str], repeats: int) -> dict:
    """A row: starts with the files' pages there, or dropped."""
    starts = []
    if state == "dropped":
        forget(files)
    disk = read_rate(files)
    for _ in range(repeats):
        if state == "dropped":
            forget(files)
        else:
            read_rate(files)
        starts.append(start(words))
        cli.say(f"page cache {state}: first token after {starts[-1]['seconds']['total']:.2f} s")
    return {
        "page_cache": state,
        "median": {part: median(one["seconds"][part] for one in starts) for part in starts[0]["seconds"]},
        "disk": disk,
        "to_device": median(one["transfer_rate"] for one in starts),
        "starts": starts,
    }


def markdown(about: dict, rows: Sequence[dict]) -> str:
    """The parts by state of the page cache, then rates and memory."""
    columns = ["seconds", *(f"page cache {row['page_cache']}" for row in rows)]
    lines = [[part, *(f"{row['median'][part]:.2f}" for row in rows)] for part in (*PARTS, "total", "programs")]
    stored, need = about["stored"], about["memory"]
    rates = {
        "loaded at": [stored / row["median"]["load"] for row in rows],
        "disk": [row["disk"] for row in rows],
        "to the device": [row["to_device"] for row in rows],
    }
    lines += [[f"{name}, GB/s", *(f"{rate / 1e9:.2f}" for rate in found)] for name, found in rates.items()]
    predicted = memory.Memory(need["weights"], need["caches"], need["working"])
    said = "the device reports none" if need["peak"] is None else memory.gigabytes(need["peak"])
    return "\n".join(
        [
            f"Start to first token: {headline(about)}; {stored / 1e9:.2f} GB stored, median of {about['repeats']}",
            "",
            *table(columns, lines),
            "",
            f"* peak device memory: {said}; predicted {predicted}",
            *(f"* {term}: {meaning}." for term, meaning in about["conventions"].items()),
        ]
    )


def parser() -> cli.Parser:
    p = cli.Parser(prog="python -m bench.coldstart", description="From the start of a process to the first token, part by part.")
    p.add_argument("--target", metavar="DIR", help="default the shipped pair")
    p.add_argument("--draft", metavar="DIR|none", help="default none with --target")
    p.add_argument("--shapes", choices=[*random_checkpoint.SHAPES], help="random weights of Qwen3's shapes, with --directory; default none")
    p.add_argument("--directory", type=Path, metavar="DIR", help="where they are, or are made: on a local disk")
    p.add_argument("--dtype", choices=["auto", *DTYPES], default="auto", help="default auto: bfloat16 on an accelerator, else float32")
    p.add_argument("--prompt-tokens", type=cli.number(1), default=100, metavar="N", help="default 100")
    p.add_argument("--repeats", type=cli.number(1), default=5, metavar="N", help="starts for each state of the page cache; default 5")
    p.add_argument("--compile-cache", type=Path, metavar="DIR", help="default a new one, filled by the first start")
    p.add_argument("--json", type=Path, metavar="FILE", help="write everything measured; default none")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    return p


def pair_of(arguments) -> tuple[str, str]:
    if bool(arguments.shapes) != bool(arguments.directory) or (arguments.shapes and (arguments.target or arguments.draft)):
        raise InputError("--shapes goes with --directory and with no --target or --draft, expected both or neither")
    if arguments.shapes:
        cli.say(f"random weights of {arguments.shapes} shapes in {arguments.directory}")
        return tuple(map(str, random_checkpoint.make_pair(arguments.directory.expanduser(), arguments.shapes)))
    if arguments.target:
        return arguments.target, arguments.draft or "none"
    return demo.TARGET, arguments.draft or demo.DRAFT


def command(argv: Sequence[str] | None) -> int:
    arguments = parser().parse(argv)
    refuse_impossible(arguments)
    jax.config.update("jax_platforms", "cpu")  # the device is for the starts alone
    pair = pair_of(arguments)
    files = files_of(pair)
    if not files:
        raise InputError(f"{pair[0]}: holds no *.safetensors file, expected a checkpoint directory on a local disk")
    with tempfile.TemporaryDirectory() as temporary:
        words = [*pair, arguments.dtype, str(arguments.compile_cache or temporary), str(arguments.prompt_tokens)]
        cli.say("filling the compilation cache")
        first = start(words)
        about = environment("coldstart") | {key: first[key] for key in ("platform", "device", "dtype", "stored", "memory")}
        about |= {"shapes": arguments.shapes, "repeats": arguments.repeats, "conventions": CONVENTIONS, "first_start": first, "rows": []}
        for state in ("warm", "dropped") if hasattr(os, "posix_fadvise") else ("warm",):
            about["rows"].append(measure(state, files, words, arguments.repeats))
            about["memory"] = about["rows"][-1]["starts"][-1]["memory"]
            keep(about, arguments.json)
    print(markdown(about, about["rows"]))
    return cli.DONE


def main(argv: Sequence[str] | None = None) -> int:
    return cli.run(command, argv)


if __name__ == "__main__":
    sys.exit(main())
