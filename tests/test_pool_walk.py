"""The walk's kernels, read by the interpreter, against the walk in XLA and op by op; and that they lower for CUDA alone."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from domino_jax import domino, pool_selection, pool_walk
from domino_jax.config import DraftConfig
from domino_jax.domino import DominoHead
from domino_jax.pool_walk import splits_of
from domino_jax.sampling import Sampling, SamplingState

V, D, R, E = 700, 64, 256, 32


def head_of(bias: bool = False, dtype=jnp.bfloat16) -> DominoHead:
    """Random, with corrections as large as the base logits, so that the walk decides."""
    sizes = dict(hidden_size=D, vocab_size=V, intermediate_size=64, num_hidden_layers=1, num_attention_heads=1, head_dim=64, rope_theta=1e6)
    inner = dict(mask_token_id=0, target_layer_ids=[0], projector_type="domino", pure_draft_prefix_len=1, shift_label=True)
    config = DraftConfig.from_dict(dict(sizes, gru_hidden_dim=R, emb_dim=E, block_size=8, dflash_config=inner))
    head = DominoHead(config, dtype, rngs=nnx.Rngs(0))
    head.w2_VE[...] = 8 * head.w2_VE[...]
    if bias:
        head.bias1_E = nnx.data(nnx.Param(jax.random.normal(jax.random.key(8), (E,), dtype)))
        head.bias2_V = nnx.data(nnx.Param(jax.random.normal(jax.random.key(9), (V,), dtype)))
    return head


def inputs(batch: int, P: int, dtype=jnp.bfloat16):
    """Embeddings, base logits, hidden states and verified tokens."""
    keys = jax.random.split(jax.random.key(batch), 4)
    shapes = (V, D), (batch, P, V), (batch, P, D)
    arrays = (jax.random.normal(key, shape, dtype) for key, shape in zip(keys, shapes, strict=False))
    return *arrays, jax.random.randint(keys[3], (batch,), 0, V)


def proposals(head, embed_VD, base_BPV, hidden_BPD, verified_B, prefix: int, pool: int, table: bool = True, **options):
    embed = partial(jnp.take, embed_VD, axis=0)
    table_V3R = head.input_table(embed_VD) if table else None
    return domino.rollout(head, embed, base_BPV, hidden_BPD, verified_B, prefix, pool, table_V3R=table_V3R, **options)


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """What a GPU would run, kernels by the interpreter."""
    calls = []

    def walk(*arguments):
        calls.append(arguments)
        return original(*arguments, interpret=True)

    original, select = pool_walk.walk, pool_selection.select
    monkeypatch.setattr(pool_walk, "walk", walk)
    monkeypatch.setattr(pool_selection, "select", partial(select, interpret=True))
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *arguments, **ways: ways.get("cuda", ways["default"])(*arguments))
    return calls


@pytest.mark.parametrize(("batch", "pool", "prefix"), [(1, 96, 1), (3, 40, 2), (18, 200, 1), (2, 65, 0)])
@pytest.mark.parametrize("bias", [False, True])
def test_the_kernels_propose_what_xla_does(batch, pool, prefix, bias, request):
    """Batches that fill a tile, pools that are whole tiles, and such as do not and are not."""
    head, arrays = head_of(bias), inputs(batch, 6)
    expected = proposals(head, *arrays, prefix, pool)
    calls = request.getfixturevalue("as_on_a_gpu")
    found = proposals(head, *arrays, prefix, pool)
    assert calls
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.array_equal(found, expected)
    assert len(np.unique(found)) > 3  # not a constant


def test_the_walk_follows_its_own_tokens(as_on_a_gpu):
    """Another verified token, other proposals: the feedback is real."""
    head, (embed, base, hidden, verified) = head_of(), inputs(4, 6)
    one, other = (proposals(head, embed, base, hidden, token, 1, 96) for token in (verified, (verified + 1) % V))
    assert np.array_equal(one[:, 0], other[:, 0])
    assert not np.array_equal(one[:, 1:], other[:, 1:])


def test_a_row_does_not_depend_on_its_neighbours(as_on_a_gpu):
    head, (embed, *rows) = head_of(), inputs(18, 5)
    whole = proposals(head, embed, *rows, 1, 96)
    assert np.array_equal(proposals(head, embed, *(a[::-1] for a in rows), 1, 96)[::-1], whole)


def test_the_first_of_equals_is_chosen(as_on_a_gpu):
    """Without corrections, where base logits tie across lanes, tiles and splits."""
    head, (embed, base, hidden, verified) = head_of(), inputs(2, 4)
    head.w2_VE[...] = 0 * head.w2_VE[...]
    tied = jnp.zeros_like(base).at[:, :, 300:].set(1)
    assert np.array_equal(proposals(head, embed, tied, hidden, verified, 1, 250), np.full((2, 4), 300))


def test_nothing_outside_is_read_where_logits_are_not_numbers(as_on_a_gpu):
    """Proposals may then be anything that is a token."""
    head, (embed, base, hidden, verified) = head_of(), inputs(2, 4)
    found = proposals(head, embed, base, jnp.full_like(hidden, jnp.nan), verified, 1, 96)
    assert ((found >= 0) & (found < V)).all()


def test_ids_of_a_vocabulary_of_its_own(as_on_a_gpu):
    head, (embed, base, hidden, verified) = head_of(), inputs(3, 5)
    ids = jax.random.permutation(jax.random.key(5), V)
    found = proposals(head, embed, base, hidden, verified, 1, 96, named=lambda choice: ids[choice])
    assert as_on_a_gpu
    assert np.array_equal(found, proposals(head, embed, base, hidden, verified, 1, 96, table=False, named=lambda choice: ids[choice]))


@pytest.mark.parametrize(
    ("table", "dtype", "sampled", "kernels"),
    [
        (True, jnp.bfloat16, False, True),
        (True, jnp.float16, False, True),
        (False, jnp.bfloat16, False, False),
        (True, jnp.float32, False, False),
        (True, jnp.bfloat16, True, False),
    ],
)
def test_on_cuda_alone_and_where_there_is_a_table_of_16_bits(table, dtype, sampled, kernels):
    head, arrays = head_of(dtype=dtype), inputs(2, 4, dtype)
    drawn = dict(sampling=SamplingState.of([Sampling(1.0)] * 2), noise_BPV=jnp.zeros((2, 4, V))) if sampled else {}
    traced = jax.jit(partial(proposals, head, table=table, **drawn), static_argnums=(4, 5)).trace(*arrays, 1, 96)
    lowered = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert ('name = "read"' in lowered) == ('name = "correct"' in lowered) == kernels
    for platform in ("cpu", "tpu"):
        assert "custom_call" not in traced.lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize(
    ("rows", "candidates", "expected"), [(1, 2048, 128), (8, 2048, 32), (64, 2048, 4), (1, 672, 32), (512, 64, 1), (1, 8, 1)]
)
def test_splits_fill_a_gpu_and_no_more(rows, candidates, expected):
    assert splits_of(rows, candidates) == expected
