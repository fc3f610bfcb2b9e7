"""What users of such engines ran into, on pairs whose answers, acceptance and logits are known.

The pair that counts and the one that speaks are known by hand. Of two more every number below was computed in float64, without a
cache and one row at a time: one drawn at random, and the counting chain in a target of four layers that strays from it.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import domino_jax
from convert import checkpoint as convert
from domino_jax import Engine, Finished, InputError, Prompt, Tokens, cache, capacity, checkpoint
from tests import models
from tests.commands import CONTEXT, COUNT, altered, runner, start

MATRICES = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


@pytest.fixture(scope="module", autouse=True)
def one_width_of_chunks():
    """Long prompts go in by several of those that short ones take: fewer programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PREFILL_WIDTHS", (32,))
        yield


def drawn_layers(rng: np.random.Generator, raw: dict, scale: float) -> dict[str, np.ndarray]:
    """The tensors of all layers: norms of ones, matrices drawn in the order above."""
    shapes = {name: shape for row in models.rows_of(raw) for name, shape in row.sources.items() if name.startswith("layers.")}
    tensors = {name: np.ones(shape) for name, shape in shapes.items() if len(shape) == 1}
    names = [f"layers.{i}.{matrix}.weight" for i in range(raw["num_hidden_layers"]) for matrix in MATRICES]
    return tensors | {name: scale * rng.normal(size=shapes[name]) for name in names}


def write(directory: Path, raw: dict, tensors: dict[str, np.ndarray]) -> str:
    return str(models.write(directory, raw, {name: tensor.astype(np.float32) for name, tensor in tensors.items()}))


def write_straying_pair(directory: Path) -> tuple[str, str]:
    """The noisy pair, its target deeper: attention adds noise, the rest of a layer nothing."""
    (target, ours), (draft, theirs) = map(models.read, models.write_noisy_pair(directory))
    target |= dict(num_hidden_layers=4, intermediate_size=16, rope_theta=1e6)
    layers = drawn_layers(np.random.default_rng(10), target, 0.3)
    scales = {name: 0.15 * ("o_proj" in name) for name in layers if "o_proj" in name or "down_proj" in name}
    ours = {name: tensor for name, tensor in ours.items() if not name.startswith("layers.")}
    ours |= {name: scales.get(name, 1) * tensor for name, tensor in layers.items()}
    ours["lm_head.weight"][0, 29:] = [0, 0, 0.5]  # of tokens that no text has
    return write(directory / "target", target, models.published_names(ours)), write(
        directory / "draft", draft | dict(num_target_layers=4), theirs
    )


def write_drawn_pair(directory: Path) -> tuple[str, str]:
    """Random weights; four heads of 16 are not the width of 32."""
    target = models.target_config(rope_theta=1e6)
    draft = models.draft_config(rope_theta=1e6, nested=dict(emb_dim=6, gru_hidden_dim=8))
    rng = np.random.default_rng(7)
    ours = drawn_layers(rng, target, 0.25)
    ours |= {"embed_tokens.weight": rng.normal(size=(96, 32)), "norm.weight": 1 + 0.1 * rng.normal(size=32)}
    ours["lm_head.weight"] = 0.5 * rng.normal(size=(96, 32))
    theirs = drawn_layers(rng, draft, 0.25) | {"norm.weight": np.ones(32), "hidden_norm.weight": np.ones(32)}
    theirs["fc.weight"] = 0.2 * rng.normal(size=(32, 64))
    theirs |= {f"prefix_gru.weight_{part}_l0": 0.3 * rng.normal(size=(24, width)) for part, width in (("ih", 32), ("hh", 8))}
    theirs |= {"embed_proj.0.weight": 0.3 * rng.normal(size=(6, 40)), "embed_proj.2.weight": rng.normal(size=(96, 6))}
    return write(directory / "target", target, models.published_names(ours)), write(directory / "draft", draft, theirs)


# The target that strays from the chain

STRAYING = {
    (0,): (
        "26 26 27 28 7 8 7 8 7 8 9 10 11 12 13 14 7 8 9 10 11 12 13 14 13 14 13 14 13 14 13 14 19 20 10 11 12 13 14 19",
        "1 3 2 2 8 8 2 2 2 2 2 5",
    ),
    (20, 3): (
        "4 5 6 7 8 9 10 11 12 25 26 25 26 27 28 7 8 9 10 11 12 13 14 7 8 9 10 11 12 13 14 14 14 14 7 8 9 10 11 12",
        "9 2 4 8 8 1 1 1 8",
    ),
    (5, 6, 7, 9, 11): (
        "12 13 14 15 16 17 25 26 27 28 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 0",
        "6 16 16 16",
    ),
}
STRAYING = {prompt: tuple([*map(int, numbers.split())] for numbers in known) for prompt, known in STRAYING.items()}
PROMPTS, NEW = [*STRAYING], 40


@pytest.fixture(scope="module")
def straying_pair(tmp_path_factory) -> tuple[str, str]:
    return write_straying_pair(tmp_path_factory.mktemp("straying"))


@pytest.fixture(scope="module")
def straying(straying_pair) -> Engine:
    return domino_jax.load(*straying_pair)


def known(results) -> bool:
    """Whether answers and acceptance lengths are those above."""
    return all((result.output_ids, result.acceptance_lengths) == STRAYING[result.prompt_ids] for result in results)


@pytest.mark.parametrize("max_context", [45, 256])
def test_rows_of_different_length_are_each_what_it_is_alone(straying, max_context):
    """With just the room they need, and with more."""
    results = straying.generate(PROMPTS, max_new_tokens=NEW, max_context=max_context)
    assert [result.prompt_ids for result in results] == PROMPTS
    assert known(results)


def test_one_engine_answers_one_request_after_the_other(straying):
    for asked in ([PROMPTS[2]], [PROMPTS[0]], [PROMPTS[2]], PROMPTS, [PROMPTS[1]]):
        assert known(straying.generate(asked, max_new_tokens=NEW, batch_size=3, max_context=45))


def test_fewer_proposals_lose_no_token(straying_pair):
    results = domino_jax.load(*straying_pair, num_proposals=7).generate(PROMPTS, max_new_tokens=NEW)
    assert [result.output_ids for result in results] == [text for text, _ in STRAYING.values()]
    assert max(length for result in results for length in result.acceptance_lengths) == 8


@pytest.mark.parametrize("drafting", [True, False])
def test_every_budget_cuts_the_same_answer(straying, drafting):
    engine = straying if drafting else straying.with_drafter(None)
    prompts = [Prompt((0,), max_new_tokens=budget) for budget in range(1, NEW + 1)]
    results = engine.generate(prompts, batch_size=3, max_context=45)
    assert [result.output_ids for result in results] == [STRAYING[0,][0][:budget] for budget in range(1, NEW + 1)]
    assert {result.finish_reason for result in results} == {"length"}


def test_a_prompt_and_its_answer_fill_the_context_exactly(straying):
    """The last blocks reach over its end."""
    prompt = [(7 * i + i * i) % 29 for i in range(216)]
    options = dict(max_new_tokens=NEW, batch_size=3, max_context=256)
    (result,) = straying.generate([prompt], **options)
    assert result.output_ids[:12] == [26, 27, 28, 0, 7, 8, 9, 10, 11, 7, 8, 9]
    assert result.acceptance_lengths == [4, 5, 5, 5, 9, 5, 11]
    assert result.output_ids == straying.generate([prompt], exact=True, **options)[0].output_ids
    with pytest.raises(InputError, match=r"216 .* 41 .* 256"):
        straying.generate([prompt], max_new_tokens=41)


def test_fresh_processes_write_the_same_bytes(run, straying_pair):
    argv = ["--target", straying_pair[0], "--draft", straying_pair[1], "--max-new-tokens", NEW, "--stats", "none"]
    argv += [word for prompt in PROMPTS for word in ("--prompt-ids", " ".join(map(str, prompt)))]
    answers = "".join(f"=== {i} ===\n{' '.join(map(str, text))}\n" for i, (text, _) in enumerate(STRAYING.values()))
    processes = [start(*argv) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].decode() for process in processes] + [run(*argv).out] == [answers] * 3


# The random pair


@pytest.fixture(scope="module")
def drawn_pair(tmp_path_factory) -> tuple[str, str]:
    return write_drawn_pair(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def drawn(drawn_pair) -> Engine:
    return domino_jax.load(*drawn_pair)


FORTY = [*range(1, 41)]


@pytest.mark.parametrize(
    ("prompt", "text"), [(FORTY, [37, 23, 29, 8, 72, 39, 49, 9]), ([1, 2, 3], [72, 34, 3, 69, 3, 27, 22, 49, 87, 3, 68, 3])]
)
def test_the_random_target_says_the_same_with_a_drafter_and_without(drawn, prompt, text):
    for engine in (drawn, drawn.with_drafter(None)):
        assert engine.generate([prompt], max_new_tokens=len(text), max_context=60)[0].output_ids == text


def test_a_drafter_that_is_nearly_never_right_costs_rounds_and_no_token(drawn):
    (result,) = drawn.generate([[1, 2, 3]], max_new_tokens=12, max_context=60)
    assert result.acceptance_lengths == [2, *[1] * 9]


@jax.jit
def read_through(target, ids_1T):
    """-> (logits, what each layer puts out) at all positions."""
    slot_1T = jnp.arange(ids_1T.shape[1])[None]
    hidden, residuals, _ = target.forward(ids_1T, slot_1T, slot_1T, cache.allocate(target.config, 1, ids_1T.shape[1], jnp.float32))
    return target.embedder.decode(hidden)[0], residuals


def furthest(one, other) -> float:
    return float(jnp.abs(one - other).max())


def test_a_rope_base_that_moved_in_the_config_is_used(drawn, drawn_pair, tmp_path):
    """As newer libraries write it. Another base would change more than half of the answers."""
    moved = {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 10000}}
    other = domino_jax.load(str(altered(Path(drawn_pair[0]), tmp_path / "target", config=moved)))
    ours, theirs = (read_through(engine.target, jnp.array([FORTY]))[0] for engine in (drawn, other))
    assert furthest(ours, theirs) == pytest.approx(7.3575, abs=1e-3)
    assert int((ours.argmax(-1) != theirs.argmax(-1)).sum()) == 22


def test_captured_layers_are_what_their_layer_puts_out(drawn_pair, tmp_path):
    """The third layer adds nothing: its output is that of the second, exactly."""
    raw, tensors = models.read(Path(drawn_pair[0]))
    silent = {f"layers.2.{name}.weight" for name in ("self_attn.o_proj", "mlp.down_proj")}
    tensors = {name: 0 * tensor if name in silent else tensor for name, tensor in tensors.items()}
    engine = domino_jax.load(write(tmp_path, raw, tensors))
    first, second, third, last = read_through(engine.target, jnp.array([FORTY]))[1]
    assert furthest(third, second) == 0
    assert furthest(last, third) == pytest.approx(10.998, abs=1e-3)
    assert furthest(second, first) == pytest.approx(8.653, abs=1e-3)


@pytest.fixture(scope="module")
def after_forty(drawn) -> tuple:
    """What a drafter's block reads after FORTY: features, their slots, how many."""
    residuals = read_through(drawn.target, jnp.array([FORTY]))[1]
    return tuple(residuals[layer] for layer in drawn.drafter.layer_ids), jnp.arange(40)[None], jnp.array([40])


def test_the_first_row_of_a_block_sees_the_rows_after_it(drawn, after_forty):
    """In a causal block it could not tell four rows from two."""
    drafter, embedder, block = drawn.drafter, drawn.target.embedder, jax.jit(drawn.drafter.backbone.block)

    def first_logits(rows: int):
        ids = jnp.array([[50] + [93] * (rows - 1)])
        hidden = block(embedder.encode(ids), *after_forty, drafter.allocate(1, 64, jnp.float32))[0]
        return embedder.decode(hidden)[0, 0]

    assert furthest(first_logits(4), first_logits(2)) == pytest.approx(1.53, abs=0.005)


@pytest.mark.parametrize("num_proposals", [2, 4])
def test_a_block_is_as_wide_as_it_was_trained_however_few_proposals_are_asked_for(drawn, drawn_pair, after_forty, num_proposals):
    drafter = domino_jax.load(*drawn_pair, num_proposals=num_proposals).drafter
    kept = drafter.allocate(1, 64, jnp.float32)
    proposals, _ = jax.jit(drafter.propose)(drawn.target.embedder, kept, *after_forty, jnp.array([50]))
    assert proposals[0].tolist() == [24, 41, 41, 41][:num_proposals]


# The pair that counts


def test_figures_of_rounds_before_and_after_the_cut(counting):
    """16 and 16 tokens stand, of which 16 and 11 are said; with the first one, which is prefill's, 28."""
    (result,) = counting.generate([[0]], max_new_tokens=40)
    assert (result.mean_acceptance_length, result.tokens_per_round) == (16.0, 13.5)
    assert len(result.output_ids) == 1 + result.tokens_per_round * result.rounds == 28


@pytest.mark.parametrize("drafting", [True, False])
def test_nothing_comes_after_a_stop_in_the_midst_of_a_block(counting, drafting):
    """Neither in the result nor in what is streamed, though the tokens after it stand."""
    engine = counting if drafting else counting.with_drafter(None)
    events = [*engine.stream([[20]], max_new_tokens=40)]
    (result,) = [event.result for event in events if isinstance(event, Finished)]
    assert [token for event in events if isinstance(event, Tokens) for token in event.ids] == result.output_ids == [*range(21, 29)]
    assert (result.finish_reason, result.rounds) == ("stop", 1 if drafting else 7)


def test_a_run_ends_when_its_last_row_does(counting):
    """Rows of one round, two and none: two rounds give tokens, and no row counts more than it has alone."""
    prompts = [[20], [0], [27]]
    events = [*counting.stream(prompts, max_new_tokens=40)]
    together = [event.result for event in sorted((e for e in events if isinstance(e, Finished)), key=lambda event: event.index)]
    alone = [counting.generate([prompt], max_new_tokens=40)[0] for prompt in prompts]
    for ours, theirs in zip(together, alone, strict=True):
        assert (ours.output_ids, ours.rounds, ours.finish_reason) == (theirs.output_ids, theirs.rounds, "stop")
    assert [(len(result.output_ids), result.rounds) for result in together] == [(8, 1), (28, 2), (1, 0)]
    assert sum(isinstance(event, Tokens) for event in events) == 3 + 1 + 2  # a row's first token, then one event a round


@pytest.mark.parametrize("draft", [(), ("--draft", "none")])
@pytest.mark.parametrize("listed", [[28, 5], 5])
def test_every_stop_id_of_the_generation_config_stops(run, counting_pair, tmp_path, listed, draft):
    target = altered(counting_pair[0], tmp_path / "target", generation_config={"eos_token_id": listed})
    ran = runner(run, (target, counting_pair[1]), *CONTEXT)
    (answer,) = ran("--prompt-ids", "0", "--output", "json", *draft).answers
    assert (answer["output_ids"], answer["finish_reason"]) == ([1, 2, 3, 4, 5], "stop")
    (answer,) = ran("--prompt-ids", "0", "--output", "json", "--ignore-eos", *draft).answers
    assert (answer["output_ids"], answer["finish_reason"]) == ([*COUNT, *range(18)], "length")


def test_a_stop_token_in_a_prompt_is_a_token_like_others(counting):
    """Neither the prompt nor its answer ends there; nor is anything padded with it."""
    prompts = [(28, 3), (28, 28, 28, 20), (1, 28, 2, 28, 24), (28,)]
    results = counting.generate(prompts, max_new_tokens=5, max_context=47, batch_size=3)
    assert [result.prompt_ids for result in results] == prompts
    assert [result.output_ids for result in results] == [[4, 5, 6, 7, 8], [21, 22, 23, 24, 25], [25, 26, 27, 28], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("head", ["left out", "equal"])
def test_a_tied_head_serves_target_and_drafter(run, counting_pair, tmp_path, head):
    """The embedding reads what it wrote: the target repeats the last token. In a store the matrix is there once."""
    raw, tensors = models.read(counting_pair[0])
    del tensors["lm_head.weight"]
    if head == "equal":
        tensors["lm_head.weight"] = tensors["embed_tokens.weight"].copy()
    source = models.write(tmp_path / "source", raw | {"tie_word_embeddings": True}, models.published_names(tensors))
    assert convert.main(["--target", str(source), "--out", str(tmp_path / "out")]) == 0
    stored = tmp_path / "out" / "target"
    assert checkpoint.open_target(counting_pair[0]).bytes() - checkpoint.open_target(stored).bytes() == 32 * 32 * 4
    for target in (source, stored):
        ran = runner(run, (target, counting_pair[1]), *CONTEXT, "--prompt-ids", "3", "--max-new-tokens", 4)
        assert ran().out == ran("--draft", "none", "--exact").out == "3 3 3 3\n"


def test_bfloat16_weights_need_no_torch(run, counting_pair, tmp_path, monkeypatch):
    """From the files and from a store of them, which keeps every bit. The answer is exact in bfloat16 too."""
    monkeypatch.setitem(sys.modules, "torch", None)  # whoever imports it fails
    for source in counting_pair:
        raw, tensors = models.read(source)
        held = {name: tensor.astype(jnp.bfloat16) for name, tensor in tensors.items()}
        models.write(tmp_path / source.name, raw, held)
    sources = [tmp_path / source.name for source in counting_pair]
    argv = ["--target", sources[0], "--draft", sources[1], "--out", tmp_path / "out", "--verify"]
    assert convert.main([*map(str, argv)]) == 0
    for pair in (sources, [tmp_path / "out" / source.name for source in sources]):
        (answer,) = runner(run, pair, *CONTEXT)("--prompt-ids", "0", "--output", "json").answers
        assert (answer["output_ids"], answer["acceptance_lengths"]) == (COUNT, [16, 16])
        assert [checkpoint.open_any(directory).stored_dtypes for directory in pair] == [["bfloat16"]] * 2


def changed(name: str, change):
    return pytest.param(name, change, id=f"{name} {change.__name__}")


def zeroed(tensor: np.ndarray) -> np.ndarray:
    return 0 * tensor


def with_reset_and_update_exchanged(tensor: np.ndarray) -> np.ndarray:
    reset, update, new = np.split(tensor, 3)
    return np.concatenate([update, reset, new])


def with_the_update_reversed(tensor: np.ndarray) -> np.ndarray:
    reset, update, new = np.split(tensor, 3)
    return np.concatenate([reset, -update, new])


def with_state_before_hidden(tensor: np.ndarray) -> np.ndarray:
    return np.roll(tensor, tensor.shape[1] // 2, 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        changed("embed_proj.2.weight", zeroed),
        changed("embed_proj.0.weight", with_state_before_hidden),
        changed("prefix_gru.weight_ih_l0", with_the_update_reversed),
        changed("prefix_gru.weight_ih_l0", with_reset_and_update_exchanged),
    ],
)
def test_a_head_read_wrongly_loses_all_but_the_uncorrected_proposal(counting_pair, tmp_path, name, change):
    """And not a token of the text."""
    raw, tensors = models.read(counting_pair[1])
    draft = write(tmp_path, raw, tensors | {name: change(tensors[name])})
    (result,) = domino_jax.load(str(counting_pair[0]), draft).generate([[0]], max_new_tokens=40)
    assert (result.output_ids, result.acceptance_lengths[:-1]) == (COUNT, [2] * 13)


@pytest.mark.parametrize(("pool_size", "least", "most"), [(0, 16, 16), (32, 16, 16), (1000, 16, 16), (8, 2, 15)])
def test_a_pool_changes_acceptance_and_no_text(counting_pair, pool_size, least, most):
    """The first proposal is chosen from the whole vocabulary, so that two tokens a round are the least."""
    (result,) = domino_jax.load(*map(str, counting_pair), pool_size=pool_size).generate([[0]], max_new_tokens=40)
    assert result.output_ids == COUNT
    assert least <= min(result.acceptance_lengths) <= max(result.acceptance_lengths) <= most


# Drawn tokens

CHANCES = {1.0: [0.455, 0.276, 0.167, 0.102], 0.5: [0.644, 0.237, 0.087, 0.032]}


@pytest.fixture(scope="module")
def choosing(counting_pair, tmp_path_factory) -> Engine:
    """After 10 come 1 to 4 with logits 2, 1.5, 1 and 0.5; after each of them 10."""
    raw, tensors = models.read(counting_pair[0])
    head = tensors["lm_head.weight"]
    head[:, 10], head[:, 1:5] = -40, 0
    head[1:5, 10], head[10, 1:5] = np.array([2.0, 1.5, 1.0, 0.5]) / np.sqrt(32), 40  # a normed one-hot embedding is sqrt(32) long
    return domino_jax.load(write(tmp_path_factory.mktemp("choosing"), raw, models.published_names(tensors)), str(counting_pair[1]))


@pytest.mark.parametrize("drafting", [True, False])
@pytest.mark.parametrize("temperature", CHANCES)
def test_drawn_tokens_are_as_frequent_as_they_should_be(choosing, temperature, drafting):
    """The first comes from prefill, the third through verification."""
    engine = choosing if drafting else choosing.with_drafter(None)
    results = engine.generate([[10]], n=4000, temperature=temperature, max_new_tokens=3, batch_size=64)
    texts = np.array([result.output_ids for result in results])
    assert (texts[:, 1] == 10).all()
    for place in (0, 2):
        np.testing.assert_allclose(np.bincount(texts[:, place], minlength=5)[1:5] / 4000, CHANCES[temperature], atol=0.03)


# The pair that speaks


@pytest.fixture(scope="module")
def speaking(speaking_pair) -> Engine:
    return domino_jax.load(*map(str, speaking_pair))


@pytest.mark.parametrize(("drafting", "pieces"), [(True, [models.TEXT]), (False, ["é", "你", "🙂"])])
def test_characters_of_several_bytes_are_streamed_whole(speaking, drafting, pieces):
    engine = speaking if drafting else speaking.with_drafter(None)
    events = [*engine.stream([[ord(">")]], max_new_tokens=20)]
    assert [event.text for event in events if isinstance(event, Tokens) and event.text] == pieces
    (result,) = [event.result for event in events if isinstance(event, Finished)]
    assert (result.text, result.output_ids) == (models.TEXT, [*models.TEXT.encode(), models.IM_END])
