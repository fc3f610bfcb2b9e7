"""The objective: what a block sees, teacher forcing against drafting and against the NumPy oracle, losses, metrics, gradients."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax import checkpoint
from domino_jax.config import DraftConfig, TargetConfig
from domino_jax.train import objective
from domino_jax.train.blocks import Blocks, make_blocks
from domino_jax.train.drafters import capture
from domino_jax.train.objective import Sums
from tests import models, reference

TARGET = models.target_config()
TENSORS = models.random_tensors(TARGET)
TENSORS["embed_tokens.weight"] *= 8  # so that proposals hang on the tokens read
LAYOUTS = {
    "domino": models.draft_config(),
    "domino-prefix0": models.draft_config(nested={"pure_draft_prefix_len": 0}),
    "domino-prefix2": models.draft_config(nested={"pure_draft_prefix_len": 2}),
    "unshifted": models.draft_config(nested={"shift_label": False}),
    "unshifted-prefix2": models.draft_config(nested={"shift_label": False, "pure_draft_prefix_len": 2}),
    "dflash": models.draft_config(domino=False),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
S, V = 14, 96
TOKENS = np.random.default_rng(0).integers(0, 90, (1, S))
ANCHORS = np.arange(S - 1)[None]


@functools.cache
def target():
    return _assembled(TargetConfig.from_dict(TARGET), TENSORS)


@functools.cache
def drafter(layout: str):
    raw = LAYOUTS[layout]
    config = DraftConfig.from_dict(raw)
    return _assembled(config, models.random_tensors(raw, 1), num_proposals=config.max_proposals, pool_size=0)


def _assembled(config, tensors, **options):
    rows = models.rows_of(config.to_dict())
    packed = {row.parameter: row.pack(*(jnp.array(tensors[name]) for name in row.sources)) for row in rows}
    return checkpoint.assemble(checkpoint.abstract(config, jnp.float32, **options), packed)


@functools.cache
def features() -> tuple:
    return jax.jit(capture, static_argnums=1)(target(), (0, 2), TOKENS)


@jax.jit
def hidden(drafter, embedder, features, anchors, verified):
    return objective.block_hidden(drafter, embedder, objective.context_keys_values(drafter.backbone, features), anchors, verified)


@jax.jit
def logits(drafter, embedder, features, blocks):
    return objective.logits(drafter, embedder, objective.context_keys_values(drafter.backbone, features), blocks)


sums_of = jax.jit(objective.sums_of, static_argnums=3)


@functools.partial(jax.jit, static_argnums=(4, 5))
def sums_and_gradient(drafter, features, blocks, base_weight, gamma, chunk):
    sums, gradient = objective.sums_and_gradient(drafter, target().embedder, features, blocks, gamma, chunk, base_weight)
    return sums, {path: leaf / sums.weight for path, leaf in checkpoint.leaves(gradient).items()}


def blocks_of(layout: str, tokens=TOKENS, anchors=ANCHORS, mask=None) -> Blocks:
    mask = np.ones(tokens.shape, bool) if mask is None else mask
    width = drafter(layout).config.max_proposals
    return make_blocks(*map(jnp.array, (tokens, mask, anchors, np.ones_like(anchors, bool))), width)


def taught(layout: str, labels: np.ndarray) -> Blocks:
    """Blocks at all anchors whose continuations are given instead of those of the sequence."""
    verified = TOKENS[:, :-1, None]
    reads = jnp.array(np.concatenate([verified, labels[..., :-1]], -1))
    return Blocks(jnp.array(ANCHORS), jnp.ones(ANCHORS.shape, bool), reads, jnp.array(labels), jnp.ones(labels.shape, bool))


# What a block sees


def test_a_block_sees_the_context_before_its_anchor_and_no_more():
    anchors = np.array([[5, 9]])
    verified = np.take_along_axis(TOKENS, anchors, 1)
    before = np.asarray(hidden(drafter("domino"), target().embedder, features(), anchors, verified))

    def changed(*positions) -> list[bool]:
        """Whether each block changes when the features of these positions do."""
        other = tuple(feature.at[:, list(positions)].add(1.0) for feature in features())
        after = np.asarray(hidden(drafter("domino"), target().embedder, other, anchors, verified))
        return [not np.array_equal(before[0, block], after[0, block]) for block in range(2)]

    assert changed(*range(9, S)) == [False, False]
    assert changed(*range(5, 9)) == [False, True]
    assert changed(4) == changed(0) == [True, True]


def test_a_block_sees_itself_both_ways_and_no_other_block():
    anchors, verified = np.array([[5, 9]]), np.array([[1, 2]])
    ours, embedder = drafter("domino"), target().embedder
    before = np.asarray(hidden(ours, embedder, features(), anchors, verified))
    after = np.asarray(hidden(ours, embedder, features(), anchors, np.array([[1, 3]])))
    assert np.array_equal(before[0, 0], after[0, 0])
    assert (np.abs(before[0, 1] - after[0, 1]).max(-1) > 1e-3).all()  # from the first row to the last
    embedded = {path: leaf.at[93].add(1.0) if "embed" in path else leaf for path, leaf in checkpoint.leaves(embedder).items()}
    after = np.asarray(hidden(ours, checkpoint.assemble(embedder, embedded), features(), anchors, verified))
    assert (np.abs(before - after).max(-1) > 1e-3).all()  # the mask rows reach back to the first


@pytest.mark.parametrize("layout", ["domino", "dflash"])
def test_hidden_states_are_those_of_decoding(layout):
    """At every anchor: one block of the decoder, whose cache holds the features before it."""
    ours = drafter(layout)
    found = np.asarray(hidden(ours, target().embedder, features(), ANCHORS, TOKENS[:, :-1]))[0]
    rows, slot = S - 1, np.tile(np.arange(S), (S - 1, 1))
    block = np.array([[token, 93, 93, 93] for token in TOKENS[0, :-1]])
    repeated = tuple(jnp.repeat(feature, rows, 0) for feature in features())
    decode = jax.jit(lambda *at: ours.backbone.block(*at, ours.allocate(rows, S + ours.config.block_size, jnp.float32))[0])
    expected = np.asarray(decode(target().embedder.encode(block), repeated, slot, ANCHORS[0]))
    np.testing.assert_allclose(found, expected[:, ours.config.first_row :], rtol=1e-4, atol=1e-4)


@every_layout
def test_logits_are_the_oracles(layout):
    """Row by row from the published tensors: which row a proposal comes from, what the GRU has read by then, where it corrects."""
    raw, shifted = LAYOUTS[layout], layout.startswith("domino")
    tensors, base, final = models.random_tensors(raw, 1), [], []
    oracle = reference.Drafter(raw, tensors, reference.Target(TARGET, TENSORS))
    residuals = oracle.target(TOKENS[0])[1]
    for anchor in (3, 8):
        state, hidden = np.zeros(12), oracle.hidden(residuals, TOKENS[0, anchor], anchor)
        for j in range(4 if shifted else 3):
            z = hidden[j if shifted else j + 1]
            base.append(oracle.target.head @ z)
            final.append(base[-1])
            if oracle.domino:
                state = reference.gru_step(reference.GRUWeights(tensors), oracle.target.embed[TOKENS[0, anchor + j]], state)
                if j >= raw["dflash_config"]["pure_draft_prefix_len"]:
                    inner = reference.silu(oracle.w["embed_proj.0"] @ np.concatenate([z, state]))
                    final[-1] = base[-1] + oracle.w["embed_proj.2"] @ inner
    found = logits(drafter(layout), target().embedder, features(), blocks_of(layout, anchors=np.array([[3, 8]])))
    for ours, theirs in zip(found, (base, final), strict=True):
        np.testing.assert_allclose(np.reshape(ours, (-1, V)), theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("layout", ["domino-prefix0", "domino-prefix2", "unshifted"])
def test_a_label_does_not_leak_into_its_own_prediction(layout):
    """Token x[a+1+j] reaches proposals after j, the corrected ones, and none before."""
    config, anchors = drafter(layout).config, np.array([[4]])
    before = np.asarray(logits(drafter(layout), target().embedder, features(), blocks_of(layout, anchors=anchors))[1])[0, 0]
    for j in range(config.max_proposals):
        tokens = TOKENS.copy()
        tokens[0, 5 + j] = (tokens[0, 5 + j] + 1) % 90
        after = logits(drafter(layout), target().embedder, features(), blocks_of(layout, tokens, anchors))[1][0, 0]
        changed = np.abs(before - after).max(-1) > 1e-5
        assert changed.tolist() == [p > j and p >= config.domino.pure_draft_prefix_len for p in range(config.max_proposals)]


@every_layout
def test_acceptance_under_teacher_forcing_is_that_of_drafting(layout):
    """Where a label is wrong, the proposals before it are still those of decoding: on every anchor, in every length."""
    ours, embedder, rows = drafter(layout), target().embedder, S - 1
    width = ours.config.max_proposals
    repeated, slot = tuple(jnp.repeat(feature, rows, 0) for feature in features()), np.tile(np.arange(S), (rows, 1))
    propose = jax.jit(lambda *at: ours.propose(embedder, ours.allocate(rows, S + ours.config.block_size, jnp.float32), *at)[0])
    proposals = np.asarray(propose(repeated, slot, ANCHORS[0], TOKENS[0, :-1]))
    assert len(np.unique(proposals)) > 3
    lengths = np.random.default_rng(1).integers(0, width + 1, rows)
    wrong = np.arange(width) == lengths[:, None]
    blocks = taught(layout, np.where(wrong, (proposals + 1) % V, proposals)[None])
    final = logits(ours, embedder, features(), blocks)[1]
    right = final.argmax(-1) == blocks.label_BAP
    assert np.array_equal(objective.accepted_prefix(right, blocks.valid_BAP)[0], lengths)


def test_layouts_differ_only_in_the_row(monkeypatch):
    """Given the hidden states of the same proposals, shifted or not is the same."""
    states = jnp.array(np.random.default_rng(3).normal(size=(1, 13, 4, 32)).astype(np.float32))
    monkeypatch.setattr(objective, "block_hidden", lambda drafter, *_: states[:, :, : drafter.config.max_proposals])
    for shifted, unshifted in (("domino", "unshifted"), ("domino-prefix2", "unshifted-prefix2")):
        both = [jax.jit(objective.logits)(drafter(each), target().embedder, [], blocks_of(each)) for each in (shifted, unshifted)]
        for ours, theirs in zip(*both, strict=True):
            np.testing.assert_allclose(ours[:, :, :3], theirs, rtol=1e-6, atol=1e-6)


def test_without_w2_there_is_no_correction():
    leaves = checkpoint.leaves(drafter("domino"))
    leaves["head.w2_VE"] = jnp.zeros_like(leaves["head.w2_VE"])
    base, final = logits(checkpoint.assemble(drafter("domino"), leaves), target().embedder, features(), blocks_of("domino"))
    assert np.array_equal(base, final)
    sums = sums_of(base, final, blocks_of("domino"), 4.0)
    assert sums.loss(0.0) == sums.loss(0.3) == sums.loss(1.0)


# Losses and metrics


def by_hand(final, label, valid=None, base=None, gamma=None) -> Sums:
    """The sums of one sequence's blocks: final and base [A, P, V], label and valid [A, P]."""
    final, label = jnp.array(final, jnp.float32)[None], jnp.array(label)[None]
    valid = jnp.ones(label.shape, bool) if valid is None else jnp.array(valid, bool)[None]
    blocks = Blocks(jnp.zeros(label.shape[:2], int), jnp.ones(label.shape[:2], bool), label, label, valid)
    return sums_of(final if base is None else jnp.array(base, jnp.float32)[None], final, blocks, gamma)


def saying(tokens, size: int = 8) -> np.ndarray:
    """Logits whose argmax is `tokens`."""
    return np.eye(size)[np.array(tokens)] * 3


def test_cross_entropy():
    """To float32 of what float64 gives, for logits that overflow an exponential too."""
    rng = np.random.default_rng(0)
    values, label = rng.normal(size=(2, 3, 4, V)) * np.array([1, 30, 1000])[:, None, None], rng.integers(0, V, (2, 3, 4))
    top = values.max(-1, keepdims=True)
    log_softmax = values - top - np.log(np.exp(values - top).sum(-1, keepdims=True))
    expected = -np.take_along_axis(log_softmax, label[..., None], -1)[..., 0]
    np.testing.assert_allclose(objective.cross_entropy(jnp.array(values, jnp.float32), jnp.array(label)), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("gamma", "count", "first", "total"),
    [(7, 16, [1, 0.8669, 0.7515, 0.6514], 6.748), (7, 15, [1, 0.8669], 6.631), (4, 8, [1, 0.7788, 0.6065, 0.4724], 3.909)],
)
def test_decay(gamma, count, first, total):
    weights = objective.decay(count, gamma)
    np.testing.assert_allclose(weights[: len(first)], first, atol=1e-4)
    assert weights.sum() == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("gamma", [None, 0.0])
def test_no_decay(gamma):
    assert objective.decay(8, gamma).tolist() == [1.0] * 8


@pytest.mark.parametrize(
    ("total", "start", "ratio", "expected"),
    [
        (1000, 1, 0.5, {0: 1, 125: 0.75, 250: 0.5, 500: 0, 999: 0}),
        (1000, 1, 1, {250: 0.75, 500: 0.5, 999: 0.001}),
        (7, 1, 0.5, {0: 1, 1: 2 / 3, 2: 1 / 3, 3: 0}),
        (200, 0.4, 0.5, {25: 0.3}),
        (10, 2, 1, {0: 1, 6: 0.8}),
        (1, 1, 0.5, {0: 1, 1: 0}),
    ],
)
def test_base_weight(total, start, ratio, expected):
    assert {step: float(objective.base_weight(step, total, start, ratio)) for step in expected} == pytest.approx(expected, abs=1e-6)


def test_losses_are_weighted_means_over_all_that_counts():
    rng = np.random.default_rng(1)
    final, base, label = rng.normal(size=(5, 4, 8)), rng.normal(size=(5, 4, 8)), rng.integers(0, 8, (5, 4))
    valid = np.arange(4) < rng.integers(0, 5, 5)[:, None]
    sums = by_hand(final, label, valid, base, gamma=3.0)
    weight = valid * np.exp(-np.arange(4) / 3)
    means = objective.metrics(sums)
    for name, values in (("final_loss", final), ("base_loss", base)):
        entropy = np.log(np.exp(values).sum(-1)) - np.take_along_axis(values, label[..., None], -1)[..., 0]
        assert means[name] == pytest.approx((weight * entropy).sum() / weight.sum(), rel=1e-5)
    assert sums.loss(0.25) / sums.weight == pytest.approx(float(0.75 * means["final_loss"] + 0.25 * means["base_loss"]))


def test_acceptance_length_is_the_right_prefix_and_the_bonus():
    """Right, wrong, right accepts one; what does not count ends the prefix; a block of which nothing counts is none."""
    label = [[1, 2, 3]] * 5
    final = saying([[1, 2, 3], [1, 0, 3], [0, 2, 3], [1, 2, 3], [1, 2, 3]])
    valid = [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]]
    means = objective.metrics(by_hand(final, label, valid, base=saying([[0, 0, 0]] * 5)))
    assert means["acceptance_length"] == pytest.approx((4 + 2 + 1 + 3) / 4)
    assert means["base_acceptance_length"] == 1
    assert means["top1"] == pytest.approx(9 / 11)
    assert means["base_top1"] == 0


def test_ranks_are_places_in_a_stable_sort():
    values = np.random.default_rng(2).integers(0, 4, (1, 50, 3, 8)).astype(np.float32)  # full of ties
    order = np.argsort(-values, -1, kind="stable")
    for place in range(8):
        assert (np.asarray(objective.rank_of_label(values, jnp.array(order[..., place]))) == place).all()
    assert np.array_equal(order[..., 0], values.argmax(-1))


def test_top5():
    rng = np.random.default_rng(4)
    label = rng.integers(0, 12, (30, 3))
    sums = by_hand(final := rng.normal(size=(30, 3, 12)), label)
    best = np.argsort(-final, -1)[..., :5]
    assert sums.top5 == (best == label[..., None]).any(-1).sum()
    assert sums.top1 == (best[..., 0] == label).sum() > 0
    assert sums.rows == 90 > sums.top5 > sums.top1


def test_top5_counts_every_row_of_a_small_vocabulary():
    sums = by_hand(saying([[1, 2], [3, 4]], size=5), [[0, 2], [3, 0]], [[1, 1], [1, 0]])
    assert (sums.top1, sums.top5, sums.rows) == (2, 3, 3)


def test_nothing_that_counts_is_no_nan():
    sums = by_hand(saying([[1, 2, 3]]), [[1, 2, 3]], [[0, 0, 0]])
    assert all(np.isfinite(value) for value in objective.metrics(sums).values())
    assert not any(jax.tree.leaves(sums))


# Sums over blocks, and gradients


def compare(ours, theirs) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), ours, theirs)


def twelve() -> Blocks:
    """Twelve blocks, some of them cut by the end."""
    return blocks_of("domino", anchors=ANCHORS[:, 1:])


@functools.cache
def whole() -> tuple[Sums, dict]:
    return sums_and_gradient(drafter("domino"), features(), twelve(), 0.3, 4.0, 12)


@pytest.mark.parametrize("layout", ["domino", "unshifted-prefix2", "dflash"])
def test_the_gradient_is_that_of_the_plain_formula(layout, monkeypatch):
    """Against automatic differentiation of L over all blocks at once, with log-softmax and a plain product."""
    blocks, embedder = blocks_of(layout, anchors=ANCHORS[:, 1:]), target().embedder
    sums, ours = sums_and_gradient(drafter(layout), features(), blocks, 0.3, 4.0, 3)
    monkeypatch.setattr(objective, "over_vocabulary", lambda x, w: jnp.einsum("BAPD,VD->BAPV", x, w))

    def plain(drafter):
        context = objective.context_keys_values(drafter.backbone, features())
        base, final = objective.logits(drafter, embedder, context, blocks)
        weight = blocks.valid_BAP * jnp.exp(-jnp.arange(blocks.label_BAP.shape[-1]) / 4.0)
        losses = [
            -(weight[..., None] * jax.nn.one_hot(blocks.label_BAP, V) * jax.nn.log_softmax(each)).sum() / weight.sum()
            for each in (final, base)
        ]
        return 0.7 * losses[0] + 0.3 * losses[1]

    loss, theirs = jax.jit(jax.value_and_grad(plain))(drafter(layout))
    assert float(sums.loss(0.3) / sums.weight) == pytest.approx(float(loss), rel=1e-5)
    theirs = checkpoint.leaves(theirs)
    assert ours.keys() == theirs.keys()
    for path, leaf in ours.items():
        np.testing.assert_allclose(leaf, theirs[path], rtol=1e-4, atol=1e-4 * np.abs(theirs[path]).max(), err_msg=path)


def test_chunks_change_nothing():
    compare(sums_and_gradient(drafter("domino"), features(), twelve(), 0.3, 4.0, 3), whole())


def test_the_order_of_blocks_changes_nothing():
    order = np.random.default_rng(0).permutation(12)
    shuffled = jax.tree.map(lambda leaf: leaf[:, order], twelve())
    compare(sums_and_gradient(drafter("domino"), features(), shuffled, 0.3, 4.0, 12), whole())


def test_unused_blocks_add_nothing():
    """Neither to the sums nor to the gradient, wherever they are, and no NaN: at anchor 0 their rows see no context at all."""
    keep = jnp.arange(12) < 7

    def padded(place: int, tokens) -> tuple[Sums, dict]:
        blocks = make_blocks(tokens, jnp.ones((1, S), bool), jnp.where(keep, jnp.arange(12), place)[None], keep[None], 4)
        return sums_and_gradient(drafter("domino"), features(), blocks, 0.3, 4.0, 12)

    sums, gradient = padded(0, jnp.array(TOKENS))
    assert (sums.blocks, sums.rows) == (7, 28)
    assert all(np.isfinite(leaf).all() for leaf in gradient.values())
    compare((sums, gradient), padded(12, jnp.array(TOKENS).at[:, 12:].set(5)))


def test_every_parameter_learns_while_the_final_loss_counts():
    sums, gradient = whole()
    assert sums.weight > 0
    assert all(np.abs(leaf).max() > 0 and np.isfinite(leaf).all() for leaf in gradient.values())


def test_the_head_learns_nothing_from_the_base_loss():
    _, gradient = sums_and_gradient(drafter("domino"), features(), twelve(), 1.0, 4.0, 12)
    zero = {path for path, leaf in gradient.items() if not np.abs(leaf).max()}
    assert zero == {path for path in gradient if path.startswith("head.")} != set()


def test_bfloat16_keeps_logits_sums_and_gradient_in_float32():
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), (drafter("domino"), target().embedder, features()))
    base, final = logits(*half, twelve())
    assert {base.dtype, final.dtype} == {jnp.dtype(jnp.float32)}
    assert (np.asarray(final) != np.asarray(final.astype(jnp.bfloat16), np.float32)).any()
    sums, gradient = jax.jit(objective.sums_and_gradient, static_argnums=(4, 5))(*half, twelve(), 4.0, 3, 0.3)
    assert {leaf.dtype for leaf in jax.tree.leaves((sums_of(base, final, twelve(), 4.0), sums, gradient))} == {jnp.dtype(jnp.float32)}
    for path, leaf in checkpoint.leaves(gradient).items():
        exact = whole()[1][path]
        assert np.linalg.norm(leaf / sums.weight - exact) < 0.05 * np.linalg.norm(exact), path
