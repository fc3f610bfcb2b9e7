"""Running `domino_jax.generate` in the tests: in this process, or as one of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax

import domino_jax

CONTEXT = ("--max-context", "47")  # shared by most runs, so that few programs are compiled
COUNT = [*range(1, 29)]  # the counting pair's answer to 0


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        return self.err.splitlines()[-1]

    @property
    def answers(self) -> list[dict]:
        return [json.loads(line) for line in self.out.splitlines()]


def runner(run, pair, *fixed):
    """Runs with this pair (and its drafter, unless --draft is given), and must succeed unless another status is expected."""

    def ran(*argv, status: int = 0) -> Ran:
        draft = () if "--draft" in argv else ("--draft", pair[1])
        done = run("--target", pair[0], *draft, *fixed, *argv)
        assert done.status == status, done.err
        assert "Traceback" not in done.err
        return done

    return ran


def altered(source: Path, copy: Path, **files: dict) -> Path:
    """A copy of a checkpoint directory in which these JSON files have these keys changed."""
    shutil.copytree(source, copy)
    for name, changes in files.items():
        path = copy / f"{name}.json"
        content = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(content | changes))
    return copy


def start(*argv, **environment) -> subprocess.Popen:
    cache = {"JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process ignores SIGINT if its parent does
    started = subprocess.Popen(
        [sys.executable, "-m", "domino_jax.generate", *map(str, argv)],
        cwd=Path(domino_jax.__file__).parents[1],
        env=os.environ | cache | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    signal.signal(signal.SIGINT, handler)
    return started


def process(*argv, stdin: bytes = b"", **environment) -> Ran:
    started = start(*argv, **environment)
    out, err = started.communicate(stdin, timeout=60)
    return Ran(started.returncode, out.decode(), err.decode())
