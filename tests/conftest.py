"""Shared by all tests: CPU, float32, compiled programs kept between runs, and engines that many tests use."""

import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"  # before anything imports jax; the exactness tests speak of a CPU

from pathlib import Path

import jax
import pytest

import domino_jax
from domino_jax.programs import use_compile_cache
from tests import models
from tests.commands import CONTEXT, Ran, runner

assert jax.default_backend() == "cpu"


@pytest.fixture(autouse=True, scope="session")
def compile_cache(request) -> None:
    assert use_compile_cache(Path(request.config.cache.mkdir("jax"))) is None


@pytest.fixture(scope="session")
def counting_pair(tmp_path_factory) -> tuple[Path, Path]:
    """Target and drafter directories of the chain 0 1 2 ... 28 (28 stops)."""
    return models.write_counting_pair(tmp_path_factory.mktemp("counting"))


@pytest.fixture(scope="session")
def speaking_pair(tmp_path_factory) -> tuple[Path, Path]:
    """Target (with a byte tokenizer) and drafter directories; after a line end the target says models.TEXT and stops."""
    return models.write_speaking_pair(tmp_path_factory.mktemp("speaking"))


@pytest.fixture(scope="session")
def random_pair(tmp_path_factory) -> tuple[Path, Path]:
    return models.write_random_pair(tmp_path_factory.mktemp("random"))


@pytest.fixture(scope="session")
def counting(counting_pair) -> domino_jax.Engine:
    return domino_jax.load(*map(str, counting_pair))


@pytest.fixture(scope="session")
def noisy_pair(tmp_path_factory) -> tuple[Path, Path]:
    """The same chain in a target that leaves it now and then, which depends on every cached key."""
    return models.write_noisy_pair(tmp_path_factory.mktemp("noisy"))


@pytest.fixture(scope="session")
def noisy(noisy_pair) -> domino_jax.Engine:
    return domino_jax.load(*map(str, noisy_pair))


@pytest.fixture
def run(capfd):
    """Runs the command line in this process."""
    from domino_jax import generate

    def run(*argv) -> Ran:
        capfd.readouterr()
        return Ran(generate.main([*map(str, argv)]), *capfd.readouterr())

    return run


@pytest.fixture
def count(run, counting_pair):
    """Runs the counting pair, which must succeed."""
    return runner(run, counting_pair, *CONTEXT)


@pytest.fixture
def speak(run, speaking_pair):
    """The same of the speaking pair."""
    return runner(run, speaking_pair, *CONTEXT)


@pytest.fixture
def refused(run):
    """The one sentence on stderr of a run that is refused."""

    def refused(*argv) -> str:
        done = run(*argv)
        assert (done.status, done.out) == (2, ""), done.err
        assert len(done.err.splitlines()) == 1
        assert done.last.startswith("error: ")
        return done.last

    return refused


@pytest.fixture
def prompts_file(tmp_path):
    """Writes a file of these lines: objects, or texts as they stand."""

    def write(*entries: dict | str) -> Path:
        path = tmp_path / "asked.jsonl"
        path.write_text("".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in entries))
        return path

    return write


@pytest.fixture(scope="session")
def misaligned_pair(tmp_path_factory) -> tuple[Path, Path]:
    """The counting pair with a drafter whose config denies the shift of its labels: it proposes one token late, always wrongly."""
    return models.write_counting_pair(tmp_path_factory.mktemp("misaligned"), shift_label=False)
