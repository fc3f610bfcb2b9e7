"""The vectors of the public PyTorch reference: ids exactly, tensors to 1e-4, through Python and through the command line."""

import functools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from domino_jax import cache, checkpoint, generate
from domino_jax.drafter import BlockDrafter
from domino_jax.engine import Engine

GOLDEN = Path(__file__).parent / "golden"
CASES = ["domino_shift_trained", "dflash_trained", "domino_shift_random"]


@functools.cache
def expected(case: str) -> tuple[dict, dict[str, np.ndarray]]:
    meta = json.loads((GOLDEN / case / "meta.json").read_text())
    meta["prompts"] = [prompt["ids"] for prompt in meta["prompts"]]
    return meta, safetensors.numpy.load_file(GOLDEN / case / "expected.safetensors")


PROMPTS = [(case, i) for case in CASES for i in range(len(expected(case)[0]["prompts"]))]


@functools.cache
def engine(case: str, pool_size: int = 0) -> Engine:
    return domino_jax.load(str(GOLDEN / case / "target"), str(GOLDEN / case / "draft"), pool_size=pool_size)


def pools(case: str) -> list[int]:
    return sorted({int(name.rsplit("pool")[-1]) for name in expected(case)[1] if "proposals_pool" in name})


def assert_rounds(case: str, i: int, pool_size: int, trace: list[dict]) -> None:
    """Every round that starts where a round of the reference starts must propose what the reference proposes there.

    The reference goes on for a round after its last token is out, and a smaller pool may take other steps than the full
    vocabulary, whose rounds are recorded: those rounds are compared where the two paths meet, and they meet more than once.
    """
    tensors = expected(case)[1]
    key = f"{i}.proposals_pool{pool_size}" if f"{i}.proposals_pool{pool_size}" in tensors else f"{i}.drafted"
    theirs = {int(start): (int(verified), proposals.tolist()) for start, verified, proposals in
              zip(tensors[f"{i}.start"], tensors[f"{i}.verified"], tensors[key], strict=True)}  # fmt: skip
    ours = {entry["start"]: (entry["verified"], list(entry["proposals"])) for entry in trace}
    met = ours.keys() & theirs.keys()
    assert len(met) >= (len(ours) if pool_size == 0 else 2)
    assert {start: ours[start] for start in met} == {start: theirs[start] for start in met}


@pytest.mark.parametrize("case", CASES)
def test_python(case):
    """All prompts in one batch, which the reference never saw: rows are independent."""
    meta, tensors = expected(case)
    for pool_size in pools(case) or [0]:
        results = engine(case, pool_size).generate(meta["prompts"], max_new_tokens=meta["max_new_tokens"], trace=True)
        for i, result in enumerate(results):
            ids = [*result.prompt_ids, *result.output_ids]
            assert ids == tensors[f"{i}.output_ids"].tolist() == tensors[f"{i}.greedy_ids"].tolist()
            assert_rounds(case, i, pool_size, [vars(entry) for entry in result.trace])


@pytest.mark.parametrize("case", CASES)
def test_command_line(case, capfd):
    meta, tensors = expected(case)
    for pool_size in pools(case) or [0]:
        argv = ["--target", str(GOLDEN / case / "target"), "--draft", str(GOLDEN / case / "draft"), "--pool-size", str(pool_size)]
        argv += ["--max-new-tokens", str(meta["max_new_tokens"]), "--output", "json", "--trace", "--check"]
        for prompt in meta["prompts"]:
            argv += ["--prompt-ids", " ".join(map(str, prompt))]
        assert generate.main(argv) == 0
        entries = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert len(entries) == len(meta["prompts"])
        for i, entry in enumerate(entries):
            assert entry["prompt_ids"] + entry["output_ids"] == tensors[f"{i}.output_ids"].tolist()
            assert entry["check"] == {"equal": True, "first_difference": None, "margin": None}
            assert_rounds(case, i, pool_size, entry["trace"])


SLOTS = 64
SLOT_1T = jnp.arange(SLOTS)[None]


@jax.jit
def forward(target, ids_1T):
    """-> (logits, residuals) of a sequence padded to SLOTS; what follows a position does not reach it."""
    hidden, residuals, _ = target.forward(ids_1T, SLOT_1T, SLOT_1T, cache.allocate(target.config, 1, SLOTS, jnp.float32))
    return target.embedder.decode(hidden), residuals


def padded(ids) -> jax.Array:
    return jnp.pad(jnp.asarray(ids), (0, SLOTS - len(ids)))[None]


@pytest.mark.parametrize(("case", "i"), PROMPTS)
def test_prompt_tensors(case, i):
    """Logits and captured features over the prompt."""
    meta, tensors = expected(case)
    length = len(meta["prompts"][i])
    logits, residuals = forward(engine(case).target, padded(meta["prompts"][i]))
    np.testing.assert_allclose(logits[0, :length], tensors[f"{i}.prompt_logits"], rtol=0, atol=1e-4)
    features = jnp.concatenate([residuals[layer] for layer in engine(case).drafter.layer_ids], -1)
    np.testing.assert_allclose(features[0, :length], tensors[f"{i}.prompt_features"], rtol=0, atol=1e-4)


@jax.jit
def draft_hidden(drafter, embedder, residuals, start, verified):
    masks = jnp.full(drafter.config.block_size - 1, drafter.config.mask_token_id)
    x_1TD = embedder.encode(jnp.concatenate([verified[None], masks])[None])
    features = tuple(residuals[layer] for layer in drafter.layer_ids)
    return drafter.backbone.block(x_1TD, features, SLOT_1T, start[None], drafter.allocate(1, SLOTS, jnp.float32))[0]


@pytest.mark.parametrize(("case", "i"), PROMPTS)
def test_draft_hidden(case, i):
    """The drafter's output of every round, from a context that is taken in at once."""
    _, tensors = expected(case)
    target, drafter = engine(case).target, engine(case).drafter
    residuals = forward(target, padded(tensors[f"{i}.output_ids"]))[1]
    starts = [start for start in tensors[f"{i}.start"] if start < len(tensors[f"{i}.output_ids"])]
    assert starts
    for number, start in enumerate(starts):
        hidden = draft_hidden(drafter, target.embedder, residuals, start, tensors[f"{i}.verified"][number])
        np.testing.assert_allclose(hidden[0], tensors[f"{i}.draft_hidden"][number], rtol=0, atol=1e-4)


def test_cases_are_of_the_kinds_they_say():
    assert [engine(case).drafter.kind for case in CASES] == ["domino", "dflash", "domino"]
    assert isinstance(engine(CASES[0]).drafter, BlockDrafter)
    assert checkpoint.open_target(GOLDEN / CASES[0] / "target").config.tie_word_embeddings
    assert not checkpoint.open_target(GOLDEN / CASES[2] / "target").config.tie_word_embeddings
