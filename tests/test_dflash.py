"""The backbone against the NumPy oracle; golden vectors of the public reference are in test_golden.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax import checkpoint
from tests import models, reference

TARGET, DRAFT = models.target_config(), models.draft_config(domino=False)
LENGTHS = np.array([11, 5])


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    target, draft = models.write_random_pair(tmp_path_factory.mktemp("dflash"), TARGET, DRAFT)
    return checkpoint.load(checkpoint.open_target(target), jnp.float32), checkpoint.load(checkpoint.open_draft(draft), jnp.float32)


@pytest.fixture(scope="module")
def oracle():
    target = reference.Target(TARGET, models.random_tensors(TARGET))
    return reference.Drafter(DRAFT, models.random_tensors(DRAFT, 1), target)


@pytest.fixture(scope="module")
def features() -> np.ndarray:
    """Two rows of 16 positions for each of two captured layers, larger than real ones and of no target."""
    return np.random.default_rng(0).normal(size=(2, 2, 16, 32)).astype(np.float32)


def block_hidden(pair, features, taken_in: int, lengths=LENGTHS, rows=4) -> np.ndarray:
    """The block's hidden states when `taken_in` positions were written before and the rest come with the pass."""
    target, drafter = pair
    cache = drafter.allocate(2, 32, jnp.float32)
    slot = np.broadcast_to(np.arange(16), (2, 16))
    write, block = jax.jit(drafter.backbone.write_context), jax.jit(drafter.backbone.block)
    if taken_in:
        cache = write(tuple(features[:, :, :taken_in]), slot[:, :taken_in], cache)
    ids = np.array([[7] + [93] * (rows - 1), [8] + [93] * (rows - 1)])
    return block(target.embedder.encode(ids), tuple(features[:, :, taken_in:]), slot[:, taken_in:], lengths, cache)[0]


@pytest.mark.parametrize("taken_in", [0, 6, 12])
def test_hidden_states(pair, oracle, features, taken_in):
    """Ragged rows. Features past a row's length are written and not seen."""
    ours = block_hidden(pair, features, taken_in)
    residuals = {0: 0, 2: 1}
    for row, length in enumerate(LENGTHS):
        expected = oracle.hidden({layer: features[j, row] for layer, j in residuals.items()}, 7 + row, length)
        np.testing.assert_allclose(ours[row], expected, rtol=1e-4, atol=1e-4)


def test_the_block_sees_itself_in_both_directions(pair, features):
    """A causal block would give its first row the same hidden state whatever follows."""
    wide, narrow = block_hidden(pair, features, 0), block_hidden(pair, features, 0, rows=2)
    assert np.abs(wide[:, 0] - narrow[:, 0]).max() > 0.1


def test_proposals_are_argmaxes_of_the_rows_after_the_first(pair, oracle, features):
    target, drafter = pair
    slot = np.broadcast_to(np.arange(16), (2, 16))
    cache = drafter.allocate(2, 32, jnp.float32)
    proposals, _ = jax.jit(drafter.propose)(target.embedder, cache, tuple(features), slot, LENGTHS, np.array([7, 8]))
    for row, length in enumerate(LENGTHS):
        residuals = {0: features[0, row], 2: features[1, row]}
        assert proposals[row].tolist() == oracle.propose(residuals, 7 + row, length, 3, 0)
