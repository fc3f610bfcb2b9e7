"""One optimizer update of a Qwen3-8B-shaped Domino drafter, for its memory and time: python -m tests.gpu.train_step [--small]

Random weights, bfloat16 arithmetic, float32 masters; 2 sequences of 3,072 tokens, 256 blocks each, 32 at a time. Checks that the loss
is finite and that the gradient of every parameter is not zero (λ = 0.5). --small runs tiny shapes, to try the script without a GPU.
"""

import argparse
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from domino_jax.target import Target
from domino_jax.train.drafters import DrafterUpdate, Objective, data_mesh, initial_state, random_parameters
from domino_jax.train.objective import metrics
from domino_jax.train.optimizer import Optimization
from tests.gpu.run import configs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    dtype = jnp.dtype(jnp.float32 if small else jnp.bfloat16)
    length, anchors, chunk = (64, 16, 8) if small else (3072, 256, 32)
    target_config, draft_config = configs(small)
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {device.device_kind}, {dtype.name}, sequences of {length}, {anchors} blocks", flush=True)

    optimization = Optimization(warmup_ratio=0.0)
    target = Target(target_config, dtype, rngs=nnx.Rngs(0))
    goal = Objective(anchors, chunk, base_start=0.5)
    update = DrafterUpdate(target, draft_config, goal, optimization, 100, 0, dtype, data_mesh())
    state = initial_state(random_parameters(draft_config, 1), 100, optimization, data_mesh())
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, target_config.vocab_size, (1, 2, length)).astype(np.int32)
    supervised = np.broadcast_to(np.arange(length) >= length // 4, tokens.shape)

    began = time.perf_counter()
    state, sums = jax.block_until_ready(update(state, tokens, supervised))
    print(f"first update, compilation included: {time.perf_counter() - began:.1f} s", flush=True)
    # Adam's first moment after one update is a tenth of the (clipped) gradient
    moments = {path: float(jnp.abs(moment).max()) for path, moment in optimizer_moments(state).items()}
    times = []
    for _ in range(5):
        began = time.perf_counter()
        state, sums = jax.block_until_ready(update(state, tokens, supervised))
        times.append(time.perf_counter() - began)
    means = {name: float(value) for name, value in metrics(sums).items()}
    print(f"an update: median of 5 {sorted(times)[2] * 1e3:.0f} ms, {2 * length / sorted(times)[2]:.0f} tokens/s")
    if statistics := device.memory_stats():
        print(f"peak memory {statistics['peak_bytes_in_use'] / 1e9:.1f} GB")
    print(", ".join(f"{name} {value:.4g}" for name, value in means.items()))
    zero = [path for path, moment in moments.items() if not moment > 0]
    finite = all(np.isfinite(value) for value in means.values())
    print(f"{'ok' if finite else 'FAIL'}    losses are finite")
    print(f"{'FAIL' if zero else 'ok'}    {len(moments) - len(zero)} of {len(moments)} parameters have a gradient {zero or ''}")
    return 0 if finite and not zero else 1


def optimizer_moments(state) -> dict:
    """Adam's first moments by module path."""
    (moments,) = (part.mu for part in jax.tree.leaves(state.optimizer, is_leaf=lambda part: hasattr(part, "mu")) if hasattr(part, "mu"))
    return moments


if __name__ == "__main__":
    sys.exit(main())
