"""Sampling: filters by the definition, draws by their distribution, and text that no drafter changes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import domino_jax
from domino_jax import DraftConfig, Engine, InputError, Prompt, ScriptedDrafter, TargetConfig, filters, programs
from domino_jax import sampling as sampling_module
from domino_jax.sampling import Sampling, SamplingState, choose, draw, noise
from tests import models, reference

CHOOSE = jax.jit(choose)
WAYS = ["best_sorted", "best_searched", "best_looked_at"]


def probabilities(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """What a token must be drawn from, in float64, one filter after the other."""
    scaled = logits.astype(np.float64) / sampling.temperature
    order = np.argsort(-scaled, kind="stable")
    kept = order[: sampling.top_k or len(order)]

    def share(ids):
        weights = np.exp(scaled[ids] - scaled[ids].max())
        return weights / weights.sum()

    if sampling.top_p < 1:
        before = np.cumsum(share(kept)) - share(kept)
        kept = kept[before < sampling.top_p]
    kept = kept[share(kept) >= sampling.min_p * share(kept)[0]]
    out = np.zeros(len(logits))
    out[kept] = share(kept)
    return out


FILTERS = [
    Sampling(1.0),
    Sampling(0.5),
    Sampling(2.0),
    Sampling(1.0, top_k=3),
    Sampling(0.7, top_p=0.8),
    Sampling(1.0, min_p=0.3),
    Sampling(1.5, top_k=6, top_p=0.9, min_p=0.2),
    Sampling(1.0, top_k=1),
    Sampling(1.0, top_p=1e-6),
]


@pytest.fixture(scope="module", params=WAYS)
def either_way(request):
    """`draw`, filtering in one of the ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling_module, "best_kept", getattr(filters, request.param))
        yield jax.jit(lambda *arguments: draw(*arguments))


def survives(draw, logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Which tokens the filters leave: a token with all the noise is drawn, unless it is filtered out."""
    size = len(logits)
    spikes = jnp.where(jnp.eye(size, dtype=bool), 1e9, 0)[:, None]
    drawn = draw(jnp.broadcast_to(logits, (size, 1, size)), spikes, SamplingState.of([sampling] * size))
    return np.asarray(drawn)[:, 0] == np.arange(size)


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
@pytest.mark.parametrize("sampling", FILTERS)
def test_filters(either_way, sampling, dtype):
    """In bfloat16 with ties."""
    for seed in range(10):
        logits = (np.random.default_rng(seed).normal(size=40) * 2).astype(dtype)
        if dtype == jnp.bfloat16:
            logits = (np.round(logits.astype(np.float32) * 2) / 2).astype(dtype)
        assert np.array_equal(survives(either_way, logits, sampling), probabilities(logits, sampling) > 0)


def test_of_equal_logits_the_lowest_ids_stay(either_way):
    flat = np.zeros(8, np.float32)
    for sampling, kept in (
        (Sampling(1.0, top_k=3), 3),
        (Sampling(1.0, top_p=0.5), 4),
        (Sampling(1.0, min_p=0.9), 8),
        (Sampling(1.0, top_k=6, top_p=0.5), 3),
        (Sampling(1.0, top_p=1e-45), 1),
        (Sampling(1.0, top_k=100), 8),
    ):
        assert np.flatnonzero(survives(either_way, flat, sampling)).tolist() == list(range(kept))


def test_all_ways_draw_the_same(monkeypatch):
    logits = jax.random.normal(jax.random.key(0), (8, 16, 3000)) * 3
    position_BT = jnp.arange(16)[None] + 100 * jnp.arange(8)[:, None]
    rows = SamplingState.of([*FILTERS[:7], Sampling(0.0)])
    drawn = []
    for way in WAYS:
        monkeypatch.setattr(sampling_module, "best_kept", getattr(filters, way))
        drawn.append(choose(logits, position_BT, rows))
    assert all(np.array_equal(drawn[0], other) for other in drawn[1:])
    assert np.array_equal(drawn[0][7], jnp.argmax(logits[7], -1))


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Pearson's statistic in standard deviations above its mean; nothing may fall where nothing is expected."""
    assert counts[expected == 0].sum() == 0
    live = expected > 0
    mean = expected[live] * counts.sum()
    freedom = live.sum() - 1
    return 0.0 if not freedom else (((counts[live] - mean) ** 2 / mean).sum() - freedom) / np.sqrt(2 * freedom)


@pytest.mark.parametrize("sampling", FILTERS)
def test_draws_follow_the_distribution(either_way, sampling):
    """20,000 seeds at one position, and one seed at 20,000 positions."""
    logits, many = np.random.default_rng(1).normal(size=12).astype(np.float32) * 2, 20_000
    state = SamplingState.of([sampling])
    seeds = SamplingState.of([dataclasses.replace(sampling, seed=seed) for seed in range(many)])
    at_7, anywhere = jnp.full((many, 1), 7), jnp.arange(many)[None]
    by_seed = either_way(jnp.broadcast_to(logits, (many, 1, 12)), noise(seeds, at_7, 12), seeds)
    by_position = either_way(jnp.broadcast_to(logits, (1, many, 12)), noise(state, anywhere, 12), state)
    for drawn in (by_seed, by_position):
        counts = np.bincount(np.asarray(drawn).ravel(), minlength=12)
        assert abs(chi_square(counts, probabilities(logits, sampling))) < 5


def test_temperature_zero_and_next_to_it_are_greedy():
    logits = jnp.array(np.random.default_rng(2).normal(size=(4, 3, 50)), jnp.float32) * 30
    rows = SamplingState.of([Sampling(0.0, seed=5), Sampling(1e-30, seed=5), Sampling(1e-6, top_p=0.5), Sampling(1e-38, min_p=0.5)])
    assert np.array_equal(CHOOSE(logits, jnp.ones((4, 3), jnp.int32), rows), jnp.argmax(logits, -1))


def test_a_greedy_row_among_drawn_ones_is_what_it_is_alone(noisy):
    prompts = [Prompt((0,)), Prompt((0,), sampling={"temperature": 2.0})]
    greedy, drawn = noisy.generate(prompts, max_new_tokens=40)
    assert greedy.output_ids == noisy.generate([[0]], max_new_tokens=40)[0].output_ids != drawn.output_ids


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"temperature": True}, "temperature is True"),
        ({"top_k": -1}, "top_k is -1"),
        ({"top_k": 1.5}, "top_k is 1.5"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_p": 1.1}, "top_p is 1.1"),
        ({"min_p": 1.0}, "min_p is 1.0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**32}, "seed is 4294967296"),
        ({"seed": "x"}, "seed is x"),
    ],
)
def test_impossible_numbers_are_refused(options, words):
    with pytest.raises(InputError, match=f"^{words}, expected"):
        Sampling(**{"temperature": 1.0} | options)


# Speculation changes nothing

PROMPTS = [[0], [20, 3], [5, 6, 7, 9, 11]]
WARM = [dict(temperature=0.3), dict(temperature=0.7, top_p=0.9), dict(temperature=1.0, top_k=4, seed=9), dict(temperature=3.0, min_p=0.05)]


@pytest.fixture(scope="module")
def alone(noisy):
    return noisy.with_drafter(None)


@pytest.mark.parametrize("options", WARM)
@pytest.mark.parametrize("pool_size", [0, 8])
def test_the_text_is_the_targets_own(noisy_pair, alone, options, pool_size):
    """The drafter's draws are often the target's: some rounds give several tokens, unless a small pool or a flat distribution forbids."""
    drafted = domino_jax.load(*map(str, noisy_pair), pool_size=pool_size)
    ours = drafted.generate(PROMPTS, max_new_tokens=40, **options)
    assert [r.output_ids for r in ours] == [r.output_ids for r in alone.generate(PROMPTS, max_new_tokens=40, **options)]
    assert max(length for result in ours for length in result.acceptance_lengths) > (
        3 if options["temperature"] <= 1 and not pool_size else 1
    )
    prompts = [Prompt(tuple(prompt)) for prompt in PROMPTS]
    drafted.check(ours, prompts, max_new_tokens=40, **options)
    assert all(result.check.equal for result in ours)


@pytest.mark.parametrize("num_proposals", [1, 3, 16])
def test_any_number_of_proposals(noisy_pair, alone, num_proposals):
    drafted = domino_jax.load(*map(str, noisy_pair), num_proposals=num_proposals)
    options = dict(max_new_tokens=40, temperature=0.8, seed=2)
    assert [r.output_ids for r in drafted.generate(PROMPTS, **options)] == [r.output_ids for r in alone.generate(PROMPTS, **options)]


def test_any_draft(alone):
    """Right tokens with wrong ones strewn in, and nothing but wrong ones."""
    options = dict(max_new_tokens=40, temperature=1.0, seed=4, ignore_eos=True)
    texts = [result.output_ids for result in alone.generate(PROMPTS, **options)]
    right = np.full((3, 96), 31, np.int32)
    for row, (prompt, text) in enumerate(zip(PROMPTS, texts, strict=True)):
        right[row, : len(prompt) + 40] = [*prompt, *text]
    for share in (0.0, 0.5, 0.9, 1.0):
        script = np.where(np.random.default_rng(0).random(right.shape) < share, right, 30)
        results = alone.with_drafter(ScriptedDrafter(script, 15)).generate(PROMPTS, **options)
        assert [result.output_ids for result in results] == texts
    assert {length for result in results for length in result.acceptance_lengths[:-1]} == {16}


def test_rows_do_not_depend_on_company_or_slot(noisy):
    options = dict(max_new_tokens=40, temperature=1.0, seed=3)
    together = [result.output_ids for result in noisy.generate(PROMPTS, **options)]
    assert [noisy.generate([prompt], **options)[0].output_ids for prompt in PROMPTS] == together
    assert [result.output_ids for result in noisy.generate(PROMPTS[::-1], batch_size=2, **options)] == together[::-1]


def test_seeds(noisy):
    one, same, other = (noisy.generate([[0]], max_new_tokens=40, temperature=1.0, seed=seed)[0].output_ids for seed in (1, 1, 2))
    assert one == same != other


def test_one_candidate_is_greedy_with_all_its_acceptance(counting):
    (drawn,) = counting.generate([[0]], max_new_tokens=40, temperature=5.0, top_k=1)
    assert (drawn.output_ids, drawn.acceptance_lengths) == (list(range(1, 29)), [16, 16])


def test_the_joint_distribution_through_verification(tmp_path):
    """Three tokens, 4,000 seeds, four candidates each: the 64 texts come as often as the target's own probabilities say.

    The second and third token pass through drafting and verification, accepted or rejected. Noise reused between positions,
    or a choice that knows of the draft, would show in the joint frequencies.
    """
    config, draft = models.target_config(), models.draft_config()
    pair = models.write_random_pair(tmp_path, config, draft)
    engine = domino_jax.load(*map(str, pair))
    oracle = reference.Target(config, models.random_tensors(config))
    sampling, prompt, many = Sampling(1.5, top_k=4), (7, 8), 4000
    expected: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(3):
        steps = {text: probabilities(oracle([*prompt, *text])[0][-1], sampling) for text in expected}
        expected = {(*text, int(t)): share * steps[text][t] for text, share in expected.items() for t in np.flatnonzero(steps[text])}
    prompts = [Prompt(prompt, sampling={"seed": seed}) for seed in range(many)]
    results = engine.generate(prompts, max_new_tokens=3, batch_size=64, temperature=1.5, top_k=4)
    found = [tuple(result.output_ids) for result in results]
    counts = np.array([found.count(text) for text in expected])
    assert len(expected) == 64
    assert counts.sum() == many
    assert abs(chi_square(counts, np.array(list(expected.values())))) < 5
    accepted = [length for result in results for length in result.acceptance_lengths]
    assert {1, 2} <= set(accepted)  # both ways of a token's coming were seen


def test_every_sampled_program_lowers_for_cuda(monkeypatch):
    found = {}

    def record(*made):
        found[made[0].__name__] = made
        return programs.Executable(None, (), 0.0, False)

    monkeypatch.setattr(programs, "compile_ahead", record)
    configs = TargetConfig.from_dict(models.target_config()), DraftConfig.from_dict(models.draft_config())
    for pool_size in (0, 10):
        found.clear()
        engine = Engine.random(*configs, jax.random.key(0), pool_size=pool_size)
        plan = engine.plan([Prompt((1,))], max_new_tokens=8, n=2, temperature=1.0, min_tokens=2, stop_token_ids=[5])
        list(engine._run(plan).compile(plan.tasks))
        assert set(found) == {"prefill", "absorb", "fork", "copy", "draft", "verify"}
        for function, modules, arguments, dtype, donate in found.values():
            assert "stablehlo" in programs.lower(function, modules, arguments, dtype, donate, platforms=["cuda"]).as_text()
