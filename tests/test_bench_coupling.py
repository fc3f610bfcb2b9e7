"""Coupling against rejection and point mass: closed forms against counts, and that what is compared is lossless."""

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import domino_jax
from bench import coupling
from bench.coupling import SCHEMES, Decoder, accept, filters_of, gumbel, randomness
from domino_jax import Prompt, domino
from domino_jax.events import Result
from domino_jax.sampling import Sampling, SamplingState
from tests import models, reference
from tests.test_sampling import FILTERS, chi_square, probabilities

# Distributions


@pytest.mark.parametrize("sampling", FILTERS)
def test_probabilities_follow_the_filters(sampling):
    logits_XV = np.random.default_rng(0).normal(size=(20, 12)).astype(np.float32) * 2
    ours = coupling.probabilities(jnp.array(logits_XV), **filters_of(sampling))
    assert np.allclose(ours, [probabilities(logits_V, sampling) for logits_V in logits_XV], atol=1e-6)


def test_of_equal_logits_the_lowest_ids_stay():
    for sampling, kept in ((Sampling(1.0, top_k=3), 3), (Sampling(1.0, top_p=0.5), 4), (Sampling(1.0, min_p=0.9), 8)):
        found = coupling.probabilities(jnp.zeros(8), **filters_of(sampling))
        assert np.allclose(found, np.where(np.arange(8) < kept, 1 / kept, 0))


# Theory


@pytest.mark.parametrize("variation", [0.05, 0.3, 0.6])
def test_formulas_are_what_is_counted(variation):
    p_V, q_V = coupling.toy_pair(np.random.default_rng(1), variation)
    formula, keys = coupling.standing(p_V, q_V), 200_000
    found = coupling.counted(jnp.float32(p_V), jnp.float32(q_V), 0, keys)
    for scheme in SCHEMES:
        assert abs(found[scheme] - formula[scheme]) < 4.5 * (formula[scheme] * (1 - formula[scheme]) / keys) ** 0.5
    assert formula["rejection"] == pytest.approx(1 - variation)
    assert (1 - variation) / (1 + variation) < formula["coupling"] < formula["rejection"]


def test_formulas_where_tokens_are_missing():
    p_V, q_V = np.array([0.5, 0.5, 0, 0]), np.array([0, 0.25, 0.75, 0])
    assert coupling.standing(p_V, q_V) == {"coupling": 1 / (1 + 1 + 3), "rejection": 0.25, "point mass": 0.0}
    assert coupling.standing(p_V, p_V) == {"coupling": 1.0, "rejection": 1.0, "point mass": 0.5}


# Acceptance

KEYS, V = 50_000, 5
P_VV, Q_VV = (jax.nn.softmax(jax.random.normal(jax.random.key(seed), (V, V)) * 1.5) for seed in (1, 2))  # a row: after this token


@jax.jit
def drafted(key):
    """-> proposals of two tokens after token 0, q, p and the random numbers of acceptance, after the drafter's own."""
    drafting_BPV, uniform_BP, bonus_BV = randomness(key, (KEYS, 2, V))
    q_BPV, tokens = [], [jnp.zeros(KEYS, jnp.int32)]
    for noise_BV in drafting_BPV.swapaxes(0, 1):
        q_BPV.append(Q_VV[tokens[-1]])
        tokens.append(jnp.argmax(jnp.log(q_BPV[-1]) + noise_BV, -1))
    tokens_BT = jnp.stack(tokens, 1)
    return drafting_BPV, tokens_BT[:, 1:], jnp.stack(q_BPV, 1), P_VV[tokens_BT], uniform_BP, bonus_BV


def at(a_BPV, tokens_BP):
    return jnp.take_along_axis(a_BPV, tokens_BP[..., None], -1)[..., 0]


def with_residual(residual):
    """Acceptance whose bonus is drawn from another residual of (p, q)."""

    def mutant(drafting, proposals, q, p, uniform, noise):
        accepted_B, _ = accept(proposals, q, p, uniform, noise)
        weight_BTV = residual(p, jnp.pad(q, ((0, 0), (0, 1), (0, 0))))
        return accepted_B, jnp.argmax(jnp.log(weight_BTV[jnp.arange(len(p)), accepted_B]) + noise, -1)

    return mutant


RIGHT = {"as it is": lambda drafting, *arguments: accept(*arguments)}
MUTANTS = {
    "bonus from p": with_residual(lambda p, q: p),
    "residual |p - q|": with_residual(lambda p, q: abs(p - q)),
    "acceptance without q": lambda _, x, q, p, uniform, noise: accept(x, q, p, uniform / at(q, x), noise),
    "q not what was drawn from": lambda _, x, q, p, uniform, noise: accept(x, jax.nn.softmax(jnp.log(q) / 2), p, uniform, noise),
    "the draft's noise for the bonus": lambda drafting, x, q, p, uniform, noise: accept(x, q, p, uniform, drafting[:, 0]),
    "the draft's numbers for acceptance": lambda drafting, x, q, p, _, noise: accept(x, q, p, jnp.exp(-jnp.exp(-at(drafting, x))), noise),
}


@pytest.mark.parametrize("acceptance", [*RIGHT, *MUTANTS])
def test_three_tokens_come_as_the_target_would_draw_them(acceptance):
    """A round's tokens, and what the target draws after them if they are fewer: 125 texts. The mutants show what the test can see."""
    key, *rest = jax.random.split(jax.random.key(0), 3)
    drafting, *arguments = drafted(key)
    accepted_B, bonus_B = jax.jit((RIGHT | MUTANTS)[acceptance])(drafting, *arguments)
    text_BT = jnp.pad(arguments[0], ((0, 0), (0, 1))).at[jnp.arange(KEYS), accepted_B].set(bonus_B)
    for place, key in enumerate(rest, 1):
        drawn_B = jnp.argmax(jnp.log(P_VV[text_BT[:, place - 1]]) + gumbel(key, (KEYS, V)), -1)
        text_BT = text_BT.at[:, place].set(jnp.where(accepted_B < place, drawn_B, text_BT[:, place]))
    expected = np.einsum("a,ab,bc->abc", *map(np.asarray, (P_VV[0], P_VV, P_VV))).ravel()
    counts = np.bincount(text_BT @ jnp.array([V * V, V, 1]), minlength=V**3)
    assert (abs(chi_square(counts, expected / expected.sum())) < 5) == (acceptance in RIGHT)


def test_the_bonus_after_a_rejection_and_after_none():
    _, proposals, *rest = drafted(jax.random.key(3))
    accepted_B, bonus_B = (np.asarray(found) for found in accept(proposals, *rest))
    assert (accepted_B > 0).mean() == pytest.approx(float(jnp.minimum(P_VV[0], Q_VV[0]).sum()), abs=0.01)
    residual_V = np.maximum(P_VV[0] - Q_VV[0], 0)
    assert abs(chi_square(np.bincount(bonus_B[accepted_B == 0], minlength=V), residual_V / residual_V.sum())) < 5
    for last in range(V):
        after = bonus_B[(accepted_B == 2) & (np.asarray(proposals)[:, 1] == last)]
        assert len(after) > 100
        assert abs(chi_square(np.bincount(after, minlength=V), np.asarray(P_VV[last]))) < 5


# The walk


@pytest.fixture(scope="module")
def walked(random_pair):
    """-> (the walk's proposals and q, those of the product's walk) with this pool and sampling; None: point mass and greedy."""
    engines = {pool_size: domino_jax.load(*map(str, random_pair), pool_size=pool_size) for pool_size in (0, 8)}
    hidden_BPD, noise_BPV = (gumbel(jax.random.key(seed), (64, 3, X)) for seed, X in ((1, 32), (2, 96)))
    ours, verified_B = jax.jit(coupling.rollout), jnp.arange(64)

    def walked(pool_size: int, sampling: Sampling | None):
        drafter, embedder = engines[pool_size].drafter, engines[pool_size].target.embedder
        base_BPV, prefix = embedder.decode(hidden_BPD), drafter.config.domino.pure_draft_prefix_len
        drawn = {} if sampling is None else {"sampling": SamplingState.of([sampling] * 64), "noise_BPV": noise_BPV}

        def theirs(drawn):
            def gru_input(ids):
                return drafter.head.gru_input(embedder.encode(ids))

            return domino.rollout(drafter.head, gru_input, base_BPV, hidden_BPD, verified_B, prefix, pool_size, **drawn)

        filters = filters_of(sampling or Sampling(1.0))
        return ours(drafter, embedder, hidden_BPD, verified_B, noise_BPV, sampling is None, filters), jax.jit(theirs)(drawn)

    return walked


@pytest.mark.parametrize("pool_size", [0, 8])
def test_point_mass_proposes_what_the_product_does_when_greedy(walked, pool_size):
    (proposals_BP, q_BPV), greedy_BP = walked(pool_size, None)
    assert np.array_equal(proposals_BP, greedy_BP)
    assert np.array_equal(q_BPV, jax.nn.one_hot(greedy_BP, 96))


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(2.0, top_k=4), Sampling(1.5, top_p=0.8, min_p=0.1)])
def test_q_is_what_the_product_draws_from(walked, sampling):
    """With one noise both walks draw the same."""
    (proposals_BP, q_BPV), drawn_BP = walked(0, sampling)
    assert np.array_equal(proposals_BP, drawn_BP)
    assert len(np.unique(proposals_BP)) > 20
    assert np.allclose(q_BPV.sum(-1), 1, atol=1e-5)


def test_q_stays_in_the_pool(walked):
    _, q_BPV = walked(8, Sampling(3.0))[0]
    assert np.array_equal((q_BPV > 0).sum(-1), [[96, 8, 8]] * 64)
    assert np.array_equal(q_BPV[:, 1] > 0, q_BPV[:, 2] > 0)


# Decoding


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> tuple[Path, domino_jax.Engine]:
    """A vocabulary of six in a ring that the target leaves often, and a drafter that is right half the time, with a pool of four."""
    directory = tmp_path_factory.mktemp("tiny")
    pair = models.write_chain_pair(directory, [1, 2, 3, 4, 0, 0], 5, noise=1.0, block_size=4)
    engine = domino_jax.load(*map(str, pair), num_proposals=2, pool_size=4)
    return directory, dataclasses.replace(engine, stop_ids=())


@pytest.fixture(scope="module")
def decoder(tiny) -> Decoder:
    return Decoder(tiny[1], width=3, max_new_tokens=6, batch=1024)


def test_both_schemes_are_greedy_decoding_where_one_token_is_left(tiny, decoder):
    """The same tokens in the same rounds, stops and budget kept, over more than one batch."""
    asked = [Prompt((*map(int, np.base_repr(number, 6)),)) for number in range(6, 150)]
    warm = Prompt((0,), sampling={"temperature": 1.0})  # for the sake of the programs: those of the tests below
    for stop_ids in ((), (0,)):
        decoder.engine = dataclasses.replace(tiny[1], stop_ids=stop_ids)
        *ours, _ = decoder.engine.generate([*asked, warm], max_new_tokens=decoder.budget, batch_size=decoder.batch)
        for point_mass in (False, True):
            found = decoder.decode(asked * 8, Sampling(1.0, top_k=1), point_mass)
            for expected, result in zip(ours * 8, found, strict=True):
                assert (result.output_ids, result.finish_reason) == (expected.output_ids, expected.finish_reason)
                assert result.acceptance_lengths == expected.acceptance_lengths
        assert {length for result in ours for length in result.acceptance_lengths} == {1, 2, 3}
    decoder.engine = tiny[1]


@pytest.fixture(scope="module")
def oracles(tiny) -> tuple[reference.Target, reference.Drafter]:
    """The slow oracles of the same files."""
    configs, tensors = zip(*(read(tiny[0] / name) for name in ("target", "draft")), strict=True)
    target = reference.Target(configs[0], tensors[0])
    return target, reference.Drafter(configs[1], tensors[1], target)


def read(directory: Path) -> tuple[dict, dict[str, np.ndarray]]:
    tensors = safetensors.numpy.load_file(directory / "model.safetensors")
    return json.loads((directory / "config.json").read_text()), {name.removeprefix("model."): tensor for name, tensor in tensors.items()}


@pytest.fixture(scope="module")
def expected(oracles) -> dict[tuple[int, ...], float]:
    """The probability of each text of three tokens, with a filter that leaves four tokens each."""
    texts: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(3):
        steps = {text: probabilities(oracles[0]([1, 2, *text])[0][-1], Sampling(2.0, top_k=4)) for text in texts}
        texts = {(*text, int(t)): share * steps[text][t] for text, share in texts.items() for t in np.flatnonzero(steps[text])}
    return texts


def joint_chi_square(decoder: Decoder, expected: dict, point_mass: bool) -> float:
    """8,192 answers' first three tokens, most of them through drafting and acceptance: 64 texts."""
    results = decoder.decode([Prompt((1, 2))] * 8192, Sampling(2.0, top_k=4), point_mass)
    found = [tuple(result.output_ids[:3]) for result in results]
    assert {1, 2, 3} == {result.acceptance_lengths[0] for result in results}
    return chi_square(np.array([found.count(text) for text in expected]), np.array([*expected.values()]))


@pytest.mark.parametrize("point_mass", [False, True])
def test_the_texts_are_the_targets(decoder, expected, point_mass):
    assert len(expected) == 64
    assert abs(joint_chi_square(decoder, expected, point_mass)) < 5


def test_noise_used_twice_would_show_in_the_texts(decoder, expected, monkeypatch):
    monkeypatch.setattr(jax.random, "fold_in", lambda key, number: key)
    assert joint_chi_square(decoder, expected, False) > 20


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(3.0, top_k=4)])
def test_first_proposals_stand_as_often_as_the_formulas_say(decoder, oracles, sampling):
    """The engine's coupling too: p and q by the slow oracles, after each first token."""
    target, drafter = oracles
    found = coupling.answers(decoder, [Prompt((1, 2))] * 2048, sampling)
    share, expected = probabilities(target([1, 2])[0][-1], sampling), dict.fromkeys(SCHEMES, 0.0)
    for first in range(6):
        logits_TV, residuals = target([1, 2, first])
        base_V = drafter.hidden(residuals, first, 2)[0] @ target.head.T  # the first proposal is uncorrected
        formula = coupling.standing(probabilities(logits_TV[-1], sampling), probabilities(base_V, sampling))
        expected = {scheme: expected[scheme] + share[first] * formula[scheme] for scheme in SCHEMES}
    assert expected["rejection"] > expected["coupling"] > expected["point mass"] > 0.1
    for scheme, results in found.items():
        stood = np.mean([result.acceptance_lengths[0] > 1 for result in results])
        assert abs(stood - expected[scheme]) < 4.5 * 0.5 / 2048**0.5


# Figures and command


def test_figures_by_hand():
    def answers(*lengths):
        return [Result(0, (1,), output_ids=[0] * sum(row), acceptance_lengths=list(row)) for row in lengths]

    found = dict(zip(SCHEMES, (answers([2, 2], [3]), answers([4], [3, 1]), answers([1, 1, 1], [2])), strict=True))
    first, second, third = coupling.figures(found, Sampling(1.0), 64, 3)
    assert (first.scheme, first.rounds, first.tokens, first.by_position) == ("coupling", 3, 7, pytest.approx([1, 1 / 3, 0]))
    assert [f.acceptance_length for f in (first, second, third)] == pytest.approx([7 / 3, 8 / 3, 5 / 4])
    assert [f.ratio for f in (first, second, third)] == pytest.approx([7 / 8, 1, 15 / 32])
    assert (second.ratio_interval, first.interval) == ((1, 1), pytest.approx((2, 3)))
    assert first.ratio_interval[0] <= first.ratio <= first.ratio_interval[1]
    context = {"prompts": 2, "max_new_tokens": 9, "dtype": "float32", "note": coupling.NOTE}
    row = coupling.markdown([first, second, third], [], context).splitlines()[2]
    assert row.startswith("| T 1 | 64 | 2.33 [2.00, 3.00] | 2.67 [")


def test_the_command(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(coupling, "TOY_KEYS", 500)
    assert coupling.main(["--prompts", "0", "--out", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert (tmp_path / "coupling.md").read_text() == table
    found = json.loads((tmp_path / "coupling.json").read_text())
    assert [row["variation"] for row in found["theory"]] == list(coupling.VARIATIONS)
    assert [line.count("|") for line in table.splitlines()[:7]] == [7] * 7


def test_settings():
    assert coupling.setting("temperature=1.5,min_p=0.05") == (Sampling(1.5, min_p=0.05), 2048)
    assert coupling.setting("temperature=1,top_k=50,pool_size=0") == (Sampling(1.0, top_k=50), 0)
    assert coupling.name(Sampling(1.0, top_k=50, top_p=0.9, min_p=0.05)) == "T 1, top-k 50, top-p 0.9, min-p 0.05"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--setting", "temperature=-1"], "temperature is -1.0, expected"),
        (["--setting", "temperature"], "'temperature' says nothing, expected NAME=NUMBER"),
        (["--setting", "seed=1"], "'seed=1' says nothing"),
        (["--setting", "top_k=50"], "draws nothing, expected a temperature above 0"),
        (["--setting", "temperature=1,pool_size=-1"], "a pool_size of at least 0"),
        (["--prompts", "-1"], "expected at least 0"),
        (["--out", "/nowhere"], "/nowhere: no such directory"),
        (["--temprature", "1"], "unknown argument --temprature"),
    ],
)
def test_bad_options_are_refused(argv, words, capsys):
    assert coupling.main(argv) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert words in found.err
