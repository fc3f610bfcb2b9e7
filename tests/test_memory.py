"""The memory of a run: reckoned as the arrays are, and refused in time with numbers that hold."""

import re
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_jax import DraftConfig, Engine, InputError, Prompt, TargetConfig, cache, memory, programs
from domino_jax.capacity import bucket
from domino_jax.engine import open_pair
from domino_jax.plan import Models, Options, Plan
from tests.models import draft_config, random_tensors, target_config, write_random_pair

TARGET, DRAFT = TargetConfig.from_dict(target_config()), DraftConfig.from_dict(draft_config())
F32, BF16 = jnp.dtype(jnp.float32), jnp.dtype(jnp.bfloat16)


def nbytes(tree) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


# What is reckoned


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("config", [TARGET, DRAFT, TargetConfig.from_dict(target_config(num_key_value_heads=1, num_hidden_layers=3))])
def test_cache_bytes_are_those_of_the_cache(config, dtype):
    for batch, capacity in ((1, 64), (3, 96)):
        assert memory.cache_bytes(config, dtype, batch, capacity) == nbytes(cache.allocate(config, batch, capacity, dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("drafting", [True, False])
def test_weights_are_those_of_the_arrays_and_of_the_files(dtype, drafting, tmp_path):
    target, draft = target_config(tie_word_embeddings=drafting), draft_config()
    directories = [str(path) for path in write_random_pair(tmp_path, target, draft)][: 2 if drafting else 1]
    pair = open_pair(*directories, dtype=dtype)
    engine = pair.load()
    published = sum(tensor.size for raw in (target, draft)[: len(directories)] for tensor in random_tensors(raw).values())
    assert pair.models == engine.models
    assert engine.models.weights == nbytes((engine.target, engine.drafter)) == published * engine.dtype.itemsize


@pytest.mark.parametrize("draft", [DRAFT, None])
def test_what_is_needed_holds_what_a_run_keeps(draft):
    """The caches of a run's state and the features, to the byte; nothing shrinks with more rows, slots or proposals."""
    engine = Engine.random(TARGET, draft, jax.random.key(0), "float32")
    run = engine._run(engine.plan([Prompt((1,))], max_new_tokens=8, batch_size=3))
    shape = run.shape
    need = memory.needed(TARGET, draft, F32, engine.models.weights, shape.batch, shape.capacity, engine.num_proposals)
    kept = [run.state.cache, *([run.draft_cache] if draft else [])]
    assert need.caches == nbytes(kept)
    assert need.working > nbytes(run.features if draft else ())
    assert need.total == need.weights + need.caches + need.working
    for more in ((4, 64, 3), (3, 96, 3), (3, 64, 15)):
        assert (
            memory.needed(TARGET, draft, F32, need.weights, *more).total >= memory.needed(TARGET, draft, F32, need.weights, 3, 64, 3).total
        )


def test_half_the_bytes_of_a_number_halve_the_cache():
    wide, narrow = (memory.needed(TARGET, DRAFT, dtype, 0, 2, 64, 3) for dtype in (F32, BF16))
    assert wide.caches == 2 * narrow.caches
    assert wide.working > narrow.working


def test_in_words():
    assert str(memory.Memory(16_000_000_000, 2_540_000_000, 450_000_000)) == "19 GB (16 GB weights, 2.54 GB caches, 0.45 GB working)"


# What the device has


def device(monkeypatch, statistics: dict | None) -> None:
    monkeypatch.setattr(jax, "devices", lambda: [SimpleNamespace(memory_stats=lambda: statistics)])


def test_a_device_that_knows_its_limit_is_believed(monkeypatch):
    device(monkeypatch, {"bytes_limit": 12345, "bytes_in_use": 99})
    assert memory.device_bytes() == 12345


@pytest.mark.parametrize("statistics", [None, {}])
def test_a_cpu_has_the_machines_memory_or_the_control_groups(monkeypatch, tmp_path, statistics):
    device(monkeypatch, statistics)
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr("os.sysconf", sizes.__getitem__)
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CGROUP_LIMIT", limit)
    assert memory.device_bytes() == 4_096_000  # no such file
    for content, expected in (("max\n", 4_096_000), ("1000000\n", 1_000_000), (str(2**62), 4_096_000)):
        limit.write_text(content)
        assert memory.device_bytes() == expected


def test_this_machine_has_some():
    assert 10**8 < memory.device_bytes() < 10**15


# What is refused


def models(draft: DraftConfig | None = DRAFT, num_proposals: int = 3) -> Models:
    return Models(TARGET, draft, num_proposals, (), False, F32, 10**6)


def plan(limit: int, made: Models, **options) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "device_bytes", lambda: limit)
        return made.plan([Prompt((1,))], Options(**options))


def need(made: Models, batch: int, slots: int) -> memory.Memory:
    return memory.needed(made.target, made.draft, made.dtype, made.weights, batch, slots, made.num_proposals)


def refusal(limit: int, made: Models, **options) -> str:
    with pytest.raises(InputError) as refused:
        plan(limit, made, **options)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_the_last_byte():
    made = models()
    whole = need(made, 8, 384).total
    assert (plan(whole, made, batch_size=8).batch, plan(whole, made, batch_size=8).capacity) == (8, 384)
    assert "batch_size 8 with 384 cache slots" in refusal(whole - 1, made, batch_size=8)


def test_the_numbers_are_said():
    made = models()
    both = need(made, 64, 384)
    said = refusal(10**7, made, batch_size=64)
    assert said.startswith(f"batch_size 64 with 384 cache slots a row needs {both} but the device has 0.01 GB, expected at most ")


@given(
    st.sampled_from([(DRAFT, 3), (None, 0), (None, 15), (DRAFT, 1)]),
    st.integers(1, 40),
    st.integers(2, 256),
    st.floats(0.02, 0.999),
)
def test_what_is_named_fits_and_one_more_does_not(kind, batch, context, share):
    made = models(*kind)
    limit = int(need(made, batch, bucket(context + max(made.num_proposals + 1, made.draft.block_size if made.draft else 0))).total * share)
    said = refusal(limit, made, batch_size=batch, max_context=context)
    named = {
        name: int(number)
        for name, number in re.findall(r"(batch_size|max_context) (\d+)(?= or|$| at this batch_size)", said.split("expected")[1])
    }
    if rows := named.get("batch_size"):
        assert 0 < rows < batch
        plan(limit, made, batch_size=rows, max_context=context)
        refusal(limit, made, batch_size=rows + 1, max_context=context)
    else:
        refusal(limit, made, batch_size=1, max_context=context)
    if fitting := named.get("max_context"):
        assert 1 < fitting < context
        plan(limit, made, batch_size=batch, max_context=fitting)
        refusal(limit, made, batch_size=batch, max_context=fitting + 1)
    else:
        refusal(limit, made, batch_size=batch, max_context=2)
    assert named or "what fits: a larger device or a smaller model" in said


def test_an_engine_refuses_before_it_allocates_or_compiles(counting, counting_pair, monkeypatch):
    pair = open_pair(*map(str, counting_pair))

    def forbidden(*arguments, **options):
        raise AssertionError("something was made before the refusal")

    for module, name in ((cache, "allocate"), (programs, "allocate"), (programs, "compile_ahead")):
        monkeypatch.setattr(module, name, forbidden)
    monkeypatch.setattr(memory, "device_bytes", lambda: counting.models.weights)
    before = {id(array) for array in jax.live_arrays()}
    for refused in (
        lambda: counting.stream([[1]]),
        lambda: counting.generate([[1]]),
        lambda: counting.session(),
        lambda: pair.plan([Prompt((1,))]),
    ):
        with pytest.raises(InputError, match=r"needs .* GB weights, .* GB caches, .* GB working\) but the device has"):
            refused()
    assert {id(array) for array in jax.live_arrays()} <= before


def test_every_answer_counts(counting, monkeypatch):
    """The batch that is left to itself is that of all answers, and is refused as one that was asked for."""
    monkeypatch.setattr(memory, "device_bytes", lambda: need(counting.models, 4, 64).total)
    assert counting.plan([Prompt((1,))] * 4, max_new_tokens=4).batch == 4
    with pytest.raises(InputError, match=r"batch_size 5 .* expected at most batch_size 4"):
        counting.plan([Prompt((1,))], n=5, temperature=1.0, max_new_tokens=4)


def test_numpy_dtypes_too():
    assert memory.cache_bytes(TARGET, np.dtype(np.float32), 1, 64) == memory.cache_bytes(TARGET, F32, 1, 64)
