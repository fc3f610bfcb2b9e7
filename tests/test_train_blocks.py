"""Anchors and blocks: where a block may start, what it reads and must propose, and what of that counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from domino_jax.config import DraftConfig
from domino_jax.train.blocks import candidates, make_blocks, sample_anchors
from tests import models

sample = jax.jit(sample_anchors, static_argnums=2)
HOLED = np.array([[0, 1, 1, 1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 0, 1, 0, 0, 0]], bool)  # the second row has no two neighbours


def used(anchors, keep) -> list[list[int]]:
    return [row[kept].tolist() for row, kept in zip(np.asarray(anchors), np.asarray(keep), strict=True)]


def test_candidates_are_supervised_and_so_is_what_follows():
    assert [np.flatnonzero(row).tolist() for row in candidates(HOLED)] == [[1, 2, 5], []]
    assert np.flatnonzero(candidates(np.ones((1, 12), bool))).tolist() == [*range(11)]  # the last but one supervises one label


def test_all_candidates_are_drawn_where_there_are_places_enough():
    """No more are than there are: the other places are unused and 0. Padding makes no candidate and takes none away."""
    for padding in (0, 1, 7):
        for count in (3, 5, 20):
            anchors, keep = sample(jax.random.key(padding), np.pad(HOLED, ((0, 0), (0, padding))), count)
            assert anchors.shape == keep.shape == (2, count)
            assert used(anchors, keep) == [[1, 2, 5], []]
            assert not np.asarray(anchors)[~np.asarray(keep)].any()


def test_anchors_are_drawn_uniformly_without_replacement_and_ascend():
    """4000 rows draw 3 of the 8 candidates each: every candidate 1500 times, give or take five standard deviations."""
    anchors, keep = sample(jax.random.key(0), np.tile([False, *[True] * 9, False, True], (4000, 1)), 3)
    assert keep.all()
    assert (np.diff(anchors, axis=1) > 0).all()
    counts = np.bincount(np.ravel(anchors), minlength=11)
    assert counts[0] == counts[9:].sum() == 0
    assert np.abs(counts[1:9] - 1500).max() < 5 * np.sqrt(4000 * 3 / 8 * 5 / 8)


def test_another_key_draws_other_anchors():
    mask = np.ones((1, 100), bool)
    first, again, other = (np.asarray(sample(jax.random.key(seed), mask, 5)[0]) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def blocks_at(anchors: list[int], shifted: bool, mask=None, kept=None, block_size: int = 4):
    """Blocks of the sequence 100, 101, ..., 111, as arrays without their batch axis."""
    config = DraftConfig.from_dict(models.draft_config(block_size=block_size, nested={"shift_label": shifted}))
    tokens, anchors = np.arange(100, 112)[None], np.array([anchors])
    mask = np.ones((1, 12), bool) if mask is None else np.array([mask], bool)
    kept = np.ones_like(anchors, bool) if kept is None else np.array([kept])
    blocks = make_blocks(jnp.array(tokens), jnp.array(mask), jnp.array(anchors), jnp.array(kept), config.max_proposals)
    return config.first_row, jax.tree.map(lambda leaf: np.asarray(leaf[0]), blocks)


@pytest.mark.parametrize("shifted", [True, False])
def test_a_block_proposes_what_follows_its_anchor(shifted):
    """Row k predicts x[a+1+k] in the shifted layout, x[a+k] in the other; the head has by then read x[a] up to the one before."""
    first_row, blocks = blocks_at([5], shifted)
    rows = range(first_row, 4)
    assert first_row == (not shifted)
    assert blocks.label_BAP[0].tolist() == [100 + 5 + k + shifted for k in rows]
    assert blocks.read_BAP[0].tolist() == [100 + 5 + k - first_row for k in rows]
    assert blocks.valid_BAP.all()


@pytest.mark.parametrize("shifted", [True, False])
def test_the_end_of_the_sequence_cuts_a_block(shifted):
    _, blocks = blocks_at([8, 9, 10, 11], shifted)
    assert blocks.valid_BAP.sum(-1).tolist() == [3, 2, 1, 0]
    assert (np.diff(blocks.valid_BAP.astype(int)) <= 0).all()
    assert blocks.label_BAP[2, 0] == 111


def test_a_hole_ends_a_block():
    """Labels 6, 7 count, 8 does not; 9 does, but no round would come to it."""
    mask = [position != 8 for position in range(12)]
    _, blocks = blocks_at([5, 7, 8], True, mask)
    assert blocks.valid_BAP.tolist() == [[True, True, False, False], [False] * 4, [True, True, True, False]]


def test_unused_places_count_for_nothing():
    _, blocks = blocks_at([5, 0], True, kept=[True, False])
    assert blocks.valid_BAP.tolist() == [[True] * 4, [False] * 4]
