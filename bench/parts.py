"""The parts of the draft program, each as a program of its own: what `bench.decode` times beside the whole."""

import jax.numpy as jnp
from jax import Array

from domino_jax.cache import KVCache
from domino_jax.drafter import BlockDrafter
from domino_jax.target import Embedder


def block_pass(
    drafter: BlockDrafter,
    embedder: Embedder,
    draft_cache: KVCache,
    features: tuple[Array, ...],
    features_from_B: Array,
    length_B: Array,
    verified_B: Array,
) -> tuple[KVCache, Array]:
    """All of the draft program that comes before the head -> (draft cache, hidden_BPD)."""
    slot_BT = features_from_B[:, None] + jnp.arange(drafter.num_proposals + 1)
    hidden_BPD, draft_cache = drafter.hidden(embedder, draft_cache, features, slot_BT, length_B, verified_B)
    return draft_cache, hidden_BPD


def base_logits(drafter: BlockDrafter, embedder: Embedder, hidden_BPD: Array) -> Array:
    """-> base_BPV."""
    return drafter.vocabulary.decode(embedder, hidden_BPD)


def rollout(drafter: BlockDrafter, embedder: Embedder, hidden_BPD: Array, verified_B: Array) -> Array:
    """Base logits and the walk over them -> proposals_BP."""
    return drafter.walk(embedder, base_logits(drafter, embedder, hidden_BPD), hidden_BPD, verified_B)
