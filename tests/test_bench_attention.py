"""The kernel that is a candidate for attention: what it computes, read by Pallas' interpreter, and that it lowers for a GPU."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import attention
from bench.hopper_attention import attend
from domino_jax import layers

try:
    from jax.experimental.pallas.mosaic_gpu import InterpretParams
except ImportError:  # not public before jax 0.11
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams as InterpretParams

SEEN = jnp.array([101, 1], jnp.int32)


def arrays(T: int, K: int, G: int, H: int, S: int):
    shapes = (2, T, K, G, H), (2, K, S, H), (2, K, S, H)
    return [jax.random.normal(key, shape, jnp.bfloat16) for key, shape in zip(jax.random.split(jax.random.key(0), 3), shapes, strict=True)]


@functools.cache
def interpreted(causal: bool, splits: int):
    return jax.jit(functools.partial(attend, causal=causal, splits=splits, interpret=InterpretParams()))


@pytest.mark.parametrize(
    ("T", "K", "G", "H", "S", "causal", "splits"),
    [(16, 2, 4, 128, 192, True, 2), (5, 1, 3, 64, 136, False, 1), (1, 1, 8, 64, 128, True, 3)],
)
def test_it_is_attention_over_the_slots_seen(T, K, G, H, S, causal, splits):
    query, key, value = arrays(T, K, G, H, S)
    seen_BT = SEEN[:, None] + (jnp.arange(T) if causal else jnp.zeros(T, jnp.int32))
    expected = layers.attention(query, [(key, value, jnp.arange(S) < seen_BT[..., None])])
    found = interpreted(causal=causal, splits=splits)(query, key, value, SEEN)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.astype(jnp.float32), expected.astype(jnp.float32), atol=2**-7)


def test_a_query_is_the_same_bit_for_bit_wherever_it_stands_whatever_lies_past_it_and_beside_it():
    query, key, value = arrays(8, 1, 4, 64, 192)
    run = interpreted(causal=True, splits=2)
    whole = run(query, key, value, SEEN)
    later = run(jnp.roll(query, -3, 1), key.at[:, :, 150:].set(7), value.at[:, :, 150:].set(-7), SEEN + 3)
    assert np.array_equal(later[:, :5], whole[:, 3:])
    swapped = run(query[::-1], key[::-1], value[::-1], SEEN[::-1])
    assert np.array_equal(swapped[::-1], whole)


def test_slots_past_a_row_are_not_read():
    query, key, value = arrays(8, 1, 4, 64, 192)
    spoilt = [x.at[:, :, 128:].set(jnp.nan) for x in (key, value)]
    run = interpreted(causal=True, splits=2)
    assert np.array_equal(run(query, *spoilt, SEEN), run(query, key, value, SEEN))


@pytest.mark.parametrize("splits", [1, 16])
def test_it_lowers_for_a_gpu(splits):
    shapes = (1, 16, 8, 4, 128), (1, 8, 2048, 128), (1, 8, 2048, 128)
    traced = jax.jit(functools.partial(attend, causal=True, splits=splits)).trace(
        *(jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes), jax.ShapeDtypeStruct((1,), jnp.int32)
    )
    assert "mosaic_gpu" in traced.lower(lowering_platforms=("cuda",)).as_text()


def test_the_command_measures_what_runs_here_and_says_what_does_not(tmp_path, capsys):
    words = ["--layers", "2", "--kv-heads", "2", "--head-dim", "16", "--positions", "4", "--repeats", "2", "--iterations", "2"]
    assert attention.main(["--case", "1:128:100", "2:64:64", *words, "--json", str(tmp_path / "x.json")]) == 0
    printed, err = capsys.readouterr()
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    assert [(row["batch"], row["capacity"], row["used"], [*row["variants"]]) for row in rows] == [
        (1, 128, 100, ["engine"]),
        (2, 64, 64, ["engine"]),
    ]
    for row in rows:
        engine = row["variants"]["engine"]
        assert engine["error"] < 1e-5
        assert engine["same_anywhere"] == 1.0
        used = 2 * 2 * row["batch"] * row["used"] * 2 * 16 * 4
        assert engine["bytes_per_second"] == pytest.approx(1e3 * used / engine["median"])
        assert f"| engine | {engine['median']:.3f} |" in printed
    assert "The kernel is not run: it needs a Hopper GPU" in printed
    assert err == ""


@pytest.mark.parametrize(("case", "words"), [("1:100:9", "slots in 64s"), ("1:64", "not batch:capacity:used"), ("1:64:3", "3 used slots")])
def test_cases_that_cannot_be_are_refused(case, words, capsys):
    assert attention.main(["--case", case]) == 2
    assert words in capsys.readouterr().err
