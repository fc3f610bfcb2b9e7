"""The rollout against the NumPy oracle: every prefix, every pool, ties."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx

from domino_jax import domino
from domino_jax.config import DraftConfig
from domino_jax.tensors import draft_rows
from tests import models, reference

CONFIG = models.draft_config(block_size=8)
TENSORS = models.random_tensors(CONFIG, 1)
EMBED = np.random.default_rng(5).normal(size=(96, 32)).astype(np.float32)
P, B, V, D = 7, 3, 96, 32


@pytest.fixture(scope="module")
def head() -> domino.DominoHead:
    config = DraftConfig.from_dict(CONFIG)
    head = domino.DominoHead(config, jnp.float32, rngs=nnx.Rngs(0))
    for row in draft_rows(config):
        if row.parameter.startswith("head."):
            getattr(head, row.parameter.removeprefix("head."))[...] = row.pack(*(jnp.array(TENSORS[name]) for name in row.sources))
    return head


def ours(head, base, hidden, verified, prefix, pool_size) -> np.ndarray:
    rollout = jax.jit(domino.rollout, static_argnums=(1, 5, 6))
    return np.asarray(rollout(head, lambda ids: head.gru_input(jnp.take(EMBED, ids, axis=0)), base, hidden, verified, prefix, pool_size))


def theirs(base, hidden, verified, prefix, pool_size) -> np.ndarray:
    w = reference.Weights(TENSORS)
    head = EMBED.astype(np.float64), reference.GRUWeights(TENSORS), w["embed_proj.0"], w["embed_proj.2"]
    return np.array([reference.rollout(*head, base[b].astype(np.float64), hidden[b], verified[b], prefix, pool_size) for b in range(B)])


def block(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    base, hidden = rng.normal(size=(B, P, V)).astype(np.float32), rng.normal(size=(B, P, D)).astype(np.float32)
    return base, hidden, rng.integers(0, V, B)


@pytest.mark.parametrize("prefix", [0, 1, 2, P - 1, P])
@pytest.mark.parametrize("pool_size", [0, 1, 5, V, 1000])
def test_rollout(head, prefix, pool_size):
    for seed in range(3):
        base, hidden, verified = block(seed)
        assert np.array_equal(ours(head, base, hidden, verified, prefix, pool_size), theirs(base, hidden, verified, prefix, pool_size))


def test_one_position_and_no_prefix(head):
    """Nothing is left for the pool: the only proposal is chosen from the whole vocabulary."""
    base, hidden, verified = block(9)
    assert np.array_equal(ours(head, base[:, :1], hidden[:, :1], verified, 0, 5), theirs(base[:, :1], hidden[:, :1], verified, 0, 5))


def test_the_correction_matters(head):
    base, hidden, verified = block(0)
    corrected = ours(head, base, hidden, verified, 1, 0)
    assert (corrected[:, 0] == base.argmax(-1)[:, 0]).all()
    assert (corrected != base.argmax(-1)).any()
    assert (corrected[:, 1:] != ours(head, base, hidden, (verified + 1) % V, 1, 0)[:, 1:]).any()  # it reads the verified token


def test_ties_go_to_the_lowest_id(head):
    """Without correction every logit is equal; a pool of five is then the five lowest ids."""
    flat = jax.tree.map(jnp.zeros_like, head)
    base, hidden, verified = block(0)
    assert (ours(flat, 0 * base, hidden, verified, 1, 0) == 0).all()
    assert (ours(flat, 0 * base, hidden, verified, 0, 5) == 0).all()


def test_the_pool_leaves_out_position_zero(head):
    """A token that only the first position scores high is not a candidate of later ones."""
    base, hidden, verified = block(1)
    base[:, 0, 50] = 1e6
    base[:, 1:, 50] = -1e6
    flat = jax.tree.map(jnp.zeros_like, head)
    proposals = ours(flat, base, hidden, verified, 0, 1)
    assert (proposals[:, 0] == 50).all()
    assert np.array_equal(proposals[:, 1:], np.repeat(base[:, 1:].max(1).argmax(-1)[:, None], P - 1, 1))


def test_states_are_pytorchs(head):
    """The head's GRU reads embedded tokens as torch.nn.GRU with the published tensors does."""
    gru = torch.nn.GRU(D, 12, bias=False, batch_first=True)
    gru.load_state_dict({name: torch.tensor(TENSORS[f"prefix_gru.{name}"]) for name in ("weight_ih_l0", "weight_hh_l0")})
    tokens = np.random.default_rng(2).integers(0, V, (B, 6))
    expected = gru(torch.tensor(EMBED[tokens]))[0].detach().numpy()
    state = jnp.zeros((B, 12))
    for t in range(6):
        state = head.read(jnp.array(EMBED[tokens[:, t]]), state)
        np.testing.assert_allclose(state, expected[:, t], atol=1e-5)


def test_a_state_by_hand():
    """Reset, update, new; reset is applied to the product with the state. Any other convention gives other numbers."""
    config = DraftConfig.from_dict(models.draft_config(hidden_size=1, nested=dict(gru_hidden_dim=2)))
    rows = {row.parameter.removeprefix("head."): row for row in draft_rows(config) if "3R" in row.parameter}
    head = domino.DominoHead(config, jnp.float32, rngs=nnx.Rngs(0))
    head.input_3RD[...] = rows["input_3RD"].pack(jnp.array([[0.5], [-1], [1], [2], [0.3], [-0.7]]))
    head.recurrent_3RR[...] = rows["recurrent_3RR"].pack(jnp.array([[1, -2], [0.5, 1], [2, 0], [-1, 1], [0.4, -0.6], [1.5, 0.8]]))
    state = head.read(jnp.ones((1, 1)), jnp.array([[0.5, -1.0]]))
    np.testing.assert_allclose(state, [[0.534146, -0.852399]], atol=1e-6)


def test_bfloat16_keeps_state_and_sums_in_float32(head):
    """The GRU state is carried unrounded, and a correction smaller than the base logit's step still decides."""
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), head)
    state = half.read(jnp.array(EMBED[:3], jnp.bfloat16), jnp.zeros((3, 12)))
    assert state.dtype == jnp.float32
    base, hidden, verified = block(3)
    base = np.full_like(base, 256.0)  # neighbours in bfloat16 are 2 apart
    proposals = ours(half, jnp.array(base, jnp.bfloat16), jnp.array(hidden, jnp.bfloat16), verified, 0, 0)
    assert len(set(proposals.ravel().tolist())) > 1
