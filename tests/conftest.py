"""Shared by all tests: CPU, float32, compiled programs kept between runs, and engines that many tests use."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"  # before anything imports jax; the exactness tests speak of a CPU

from pathlib import Path

import jax
import pytest

import domino_jax
from domino_jax.programs import use_compile_cache
from tests import models

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
