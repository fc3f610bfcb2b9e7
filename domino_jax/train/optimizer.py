"""AdamW on float32 masters, with warm-up, cosine and clipping. Everything counts completed optimizer updates."""

from dataclasses import dataclass

import jax.numpy as jnp
import optax
from jax import Array


@dataclass(frozen=True)
class Optimization:
    learning_rate: float = 6e-4
    warmup_ratio: float = 0.04
    final_ratio: float = 0.0  # the cosine ends at this share of the learning rate
    clip: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.95
    weight_decay: float = 0.0


def schedule(step: Array | int, total_steps: int, settings: Optimization) -> Array:
    """The learning rate of update `step` (0-based): linear to the peak over the warm-up, then a cosine to the final share of it."""
    warmup = int(settings.warmup_ratio * total_steps)
    rising = (step + 1) / max(warmup, 1)
    progress = (step - warmup) / max(total_steps - warmup, 1)
    floor = settings.final_ratio
    falling = floor + (1 - floor) * (1 + jnp.cos(jnp.pi * jnp.clip(progress, 0, 1))) / 2
    return settings.learning_rate * jnp.where(step < warmup, rising, falling)


def adamw(total_steps: int, settings: Optimization) -> optax.GradientTransformation:
    """Weight decay, if any, is on the layers' matrices: not on norms, and not on embeddings, where rows that no text holds would fade."""
    return optax.chain(
        optax.clip_by_global_norm(settings.clip),
        optax.adamw(
            lambda step: schedule(step, total_steps, settings),
            b1=settings.beta1,
            b2=settings.beta2,
            weight_decay=settings.weight_decay,
            mask=lambda parameters: {path: value.ndim > 1 and "embed_" not in path for path, value in parameters.items()},
        ),
    )
