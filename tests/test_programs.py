"""What the compiled programs are: lowered for CUDA here, exact shapes, nothing baked in, no float32 logits, donated caches."""

import contextlib
import re
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import pytest

from domino_jax import DraftConfig, Engine, Prompt, TargetConfig, programs
from tests import models

TARGET = TargetConfig.from_dict(models.target_config())
KINDS = {"domino": models.draft_config(), "dflash": models.draft_config(domino=False), "none": None}


@dataclass
class Recorded:
    """A program with the arguments a run compiles it for."""

    function: object
    modules: tuple
    arguments: tuple
    donate: list


def programs_of(engine: Engine, monkeypatch, batch: int = 2, prompt: int = 40, **options) -> dict[str, Recorded]:
    found = {}

    def record(function, modules, arguments, dtype, donate):
        found[function.__name__] = Recorded(function, modules, arguments, donate)
        return programs.Executable(None, (), 0.0, False)

    monkeypatch.setattr(programs, "compile_ahead", record)
    plan = engine.plan([Prompt((1,) * prompt)], max_new_tokens=8, batch_size=batch, stop_token_ids=[7], **options)
    list(engine._run(plan).compile(plan.tasks))
    return found


def random_engine(kind: str, dtype: str = "float32", **options) -> Engine:
    draft = KINDS[kind] and DraftConfig.from_dict(KINDS[kind])
    return Engine.random(TARGET, draft, jax.random.key(0), dtype, **options)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("kind", "pool_size"), [("domino", 0), ("domino", 10), ("dflash", 0), ("none", 0)])
def test_every_program_lowers_for_cuda(kind, pool_size, dtype, monkeypatch):
    engine = random_engine(kind, dtype, pool_size=pool_size)
    found = programs_of(engine, monkeypatch)
    assert set(found) == ({"prefill", "verify"} if kind == "none" else {"prefill", "absorb", "draft", "verify"})
    for made in found.values():
        text = programs.lower(made.function, made.modules, made.arguments, engine.dtype, made.donate, platforms=["cuda"]).as_text()
        assert "stablehlo" in text
        # float32 must not fall to TF32; bfloat16 has but one way to multiply
        assert ("precision = [HIGHEST, HIGHEST]" in text) == (dtype == "float32")


def test_scopes_are_names_and_nothing_else(monkeypatch):
    """A profile reads like the round is drawn; what is compiled is the same without a name."""
    found = programs_of(random_engine("domino", pool_size=10), monkeypatch)

    def lowered(name: str):
        made = found[name]
        return programs.lower(made.function, made.modules, made.arguments, jnp.dtype(jnp.float32), made.donate)

    names = {
        "draft": ("block_pass/context", "block_pass/draft_layer1", "base_logits", "rollout/pool", "rollout/walk"),
        "verify": ("layers/layer3", "head", "choice", "acceptance"),
        "prefill": ("layers/layer3", "head"),
    }
    named = {name: lowered(name) for name in names}
    for name, scopes in names.items():
        text = named[name].as_text(debug_info=True)
        assert [scope for scope in scopes if f"jit({name})/{scope}/" not in text] == []
    monkeypatch.setattr(jax, "named_scope", lambda name: contextlib.nullcontext())
    assert {name: lowered(name).as_text() for name in names} == {name: made.as_text() for name, made in named.items()}


def test_weights_are_arguments_and_not_constants(monkeypatch):
    engine = random_engine("domino")
    for made in programs_of(engine, monkeypatch).values():
        text = programs.lower(made.function, made.modules, made.arguments, engine.dtype).as_text()
        for dense in re.findall(r"stablehlo.constant dense<[^>]*> : tensor<([\dx]*)x?[a-z]\w*>", text):
            assert dense.count("x") < 2
        assert len(text) < 400_000
        assert max(map(len, re.findall(r"dense<\"[^\"]*\">|dense<\[[^>]*>", text)), default=0) < 1000


def test_no_float32_copy_of_the_logits(monkeypatch):
    """In bfloat16 the [B, P + 1, V] logits stay bfloat16: at full size a float32 copy would be gigabytes.

    The log-probabilities need them in float32, on their way into a sum: such operations are fused with it, and nothing is stored.
    """
    engine = random_engine("domino", "bfloat16")
    found = programs_of(engine, monkeypatch, batch=3)
    verify, draft = (programs.lower(made.function, made.modules, made.arguments, engine.dtype).as_text()
                     for made in (found["verify"], found["draft"]))  # fmt: skip
    assert "tensor<3x4x96xbf16>" in verify
    passing = {"convert", "broadcast_in_dim", "subtract", "exponential"}
    assert set(re.findall(r"= stablehlo\.(\w+) .*tensor<3x4x96xf32>$", verify, re.MULTILINE)) <= passing
    assert "tensor<3x3x96xbf16>" in draft
    assert "tensor<3x3x96xf32>" not in draft


def test_another_shape_is_an_error_and_caches_are_donated():
    engine = random_engine("none")
    plan = engine.plan([Prompt((1, 2))], max_new_tokens=4)
    run = engine._run(plan)
    list(run.compile(plan.tasks))
    step = run.program(programs.verify, 0)
    old = run.state
    state, *_ = step(run.state, run.impossible_BP)
    assert old.cache.key[0].is_deleted()
    with pytest.raises(TypeError, match="called with"):
        step(state, jnp.zeros((1, 2), jnp.int32))


def test_a_done_row_is_frozen():
    """Rounds dispatched after a row's end change neither its length nor its verified token, and count nothing."""
    engine = random_engine("none")
    plan = engine.plan([Prompt((1, 2))], max_new_tokens=4)
    run = engine._run(plan)
    list(run.compile(plan.tasks))
    idle = run.state.length_B, run.state.verified_B, run.state.remaining_B
    idle = [int(array[0]) for array in idle]
    state, _, report = run.program(programs.verify, 0)(run.state, run.impossible_BP)
    assert [int(array[0]) for array in (state.length_B, state.verified_B, state.remaining_B)] == idle
    assert report[0, 3] == 0
    assert bool(state.done_B[0])


ATTENTION = 'name = "cached_attention"'  # as a lowered program says it


def test_on_a_gpu_in_16_bits_caches_are_read_as_far_as_they_are_used(monkeypatch):
    """Target and drafter, rounds and steps: the kernel once, for all layers. Wide chunks of prompts and float32 have XLA's attention."""
    for kind, names in (("domino", {"verify", "draft"}), ("none", {"verify"})):
        for dtype in ("bfloat16", "float32"):
            draft = KINDS[kind] and DraftConfig.from_dict(models.draft_config(head_dim=16))
            engine = Engine.random(TargetConfig.from_dict(models.target_config(head_dim=16)), draft, jax.random.key(0), dtype)
            found = programs_of(engine, monkeypatch, prompt=150)  # a chunk of 512
            texts = {
                name: programs.lower(made.function, made.modules, made.arguments, engine.dtype, platforms=["cuda"]).as_text()
                for name, made in found.items()
            }
            with_kernel = {name for name, text in texts.items() if ATTENTION in text}
            assert with_kernel == (names if dtype == "bfloat16" else set())
            assert all(texts[name].count(ATTENTION) == 1 for name in with_kernel)
