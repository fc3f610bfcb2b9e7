"""The kernels that select the pool, read by the interpreter, against a sort; and that they lower for CUDA alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax.pool import select_pool
from domino_jax.pool_selection import BLOCK, select
from tests.test_pool import by_sorting


def expected(score_BPV, size: int, start: int = 0) -> np.ndarray:
    return by_sorting(np.asarray(score_BPV[:, start:].max(1).astype(jnp.float32)), size)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize(
    ("vocabulary", "size"), [(5, 1), (700, 65), (BLOCK, 1), (BLOCK - 1, BLOCK - 1), (2 * BLOCK + 1, 7), (3 * BLOCK, BLOCK), (5000, 2048)]
)
def test_sizes_around_the_blocks(vocabulary, size, dtype):
    """16-bit scores of thousands of tokens tie by the dozen, also across blocks."""
    score = jax.random.normal(jax.random.key(vocabulary), (2, 3, vocabulary), dtype)
    for start in (0, 2):
        assert np.array_equal(select(score, size, start, interpret=True), expected(score, size, start))


@pytest.mark.parametrize("size", [1, 3, 40, 1500, 2999])
@pytest.mark.parametrize("values", [2, 9, 40])
def test_few_values_many_ties(size, values):
    """Infinities and both zeros among them."""
    of = jnp.concatenate([jnp.array([-0.0, 0.0, jnp.inf, -jnp.inf]), jax.random.normal(jax.random.key(values), (values,)) * 100])
    score = of.astype(jnp.bfloat16)[jax.random.randint(jax.random.key(size), (2, 1, 3000), 0, values)]
    assert np.array_equal(select(score, size, interpret=True), expected(score, size))


def test_every_digit_a_threshold_may_end_in():
    """Sixteen neighbours in the order of the bits, of which the last has none above it within the digit."""
    score = jax.lax.bitcast_convert_type(jnp.uint16(0x4080) + jnp.arange(64, dtype=jnp.uint16) % 32, jnp.bfloat16)[None, None]
    for size in range(1, 64):
        assert np.array_equal(select(score, size, interpret=True), expected(score, size))


def test_a_row_does_not_depend_on_its_neighbours():
    score = jax.random.normal(jax.random.key(0), (3, 2, 2500), jnp.bfloat16)
    whole = select(score, 100, interpret=True)
    assert np.array_equal(select(score[::-1], 100, interpret=True)[::-1], whole)


def test_only_tokens_where_scores_are_not_numbers():
    score = jax.lax.bitcast_convert_type(jnp.full((1, 1, 1500), 0xFFFF, jnp.uint16), jnp.bfloat16)  # the least key of all
    found = select(score, 1400, interpret=True)
    assert ((found >= 0) & (found < 1500)).all()


@pytest.mark.parametrize(("dtype", "kernels"), [(jnp.bfloat16, True), (jnp.float16, True), (jnp.float32, False)])
def test_on_cuda_alone_and_for_16_bits(dtype, kernels):
    traced = jax.jit(select_pool, static_argnums=(1, 2)).trace(jnp.zeros((2, 3, 3000), dtype), 100, 1)
    assert ("xla.gpu.triton" in traced.lower(lowering_platforms=("cuda",)).as_text()) == kernels
    for platform in ("cpu", "tpu"):
        assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()
