"""One optimizer update of a drafter: frozen target, captured features, blocks, objective, AdamW. Data parallel over a mesh."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from domino_jax import cache, checkpoint
from domino_jax.config import DraftConfig
from domino_jax.drafter import BlockDrafter
from domino_jax.errors import InputError
from domino_jax.target import Target
from domino_jax.train import objective
from domino_jax.train.blocks import make_blocks, sample_anchors
from domino_jax.train.objective import Sums
from domino_jax.train.optimizer import Optimization, adamw, schedule
from domino_jax.train.run import State


@dataclass(frozen=True)
class Objective:
    """How a drafter is trained (arXiv 2605.29707): anchors a sequence, blocks a chunk, decay γ, where λ starts and how long it falls."""

    anchors: int = 256
    chunk: int = 32
    gamma: float | None = 7.0
    base_start: float = 1.0
    base_ratio: float = 1.0

    def __post_init__(self):
        if self.anchors % self.chunk:
            raise InputError(f"chunk is {self.chunk}, expected a divisor of anchors = {self.anchors}")


def capture(target: Target, layer_ids: tuple[int, ...], tokens_BS: Array) -> tuple[Array, ...]:
    """The residuals after these layers of whole sequences: J times [B, S, D]. What follows a position does not reach it."""
    slot_BS = jnp.broadcast_to(jnp.arange(tokens_BS.shape[1]), tokens_BS.shape)
    empty = cache.allocate(target.config, *tokens_BS.shape, target.norm_D.dtype)
    _, residuals, _ = target.forward(tokens_BS, slot_BS, slot_BS, empty)
    return tuple(residuals[i] for i in layer_ids)


def initial_state(parameters: dict[str, Array], total_steps: int, optimization: Optimization, mesh: Mesh) -> State:
    """Step 0: float32 masters, replicated over the mesh."""
    parameters = {path: jnp.asarray(value, jnp.float32) for path, value in parameters.items()}
    state = State(parameters, adamw(total_steps, optimization).init(parameters), jnp.zeros((), jnp.int32))
    return jax.device_put(state, NamedSharding(mesh, PartitionSpec()))


def random_parameters(config: DraftConfig, seed: int) -> dict[str, Array]:
    return checkpoint.leaves(BlockDrafter(config, jnp.float32, rngs=nnx.Rngs(seed)))


def data_mesh() -> Mesh:
    """All devices in one axis, over which batches are split."""
    return jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))


class DrafterUpdate:
    """`update(state, tokens_MBS, supervised_MBS, features)` for M micro-batches -> (state, Sums), compiled once for a width.

    `features`: None to run the target, or its captured residuals, J times [M, B, S, D].
    """

    def __init__(
        self,
        target: Target,
        config: DraftConfig,
        objective: Objective,
        optimization: Optimization,
        total_steps: int,
        seed: int,
        dtype: jnp.dtype,
        mesh: Mesh,
    ):
        self.config, self.objective, self.total_steps, self.seed, self.dtype = config, objective, total_steps, seed, dtype
        self.optimizer = adamw(total_steps, optimization)
        self.optimization = optimization
        self.shape = checkpoint.abstract(config, dtype)
        self.batch_sharding = NamedSharding(mesh, PartitionSpec(None, "data"))
        self.target = jax.device_put(target, NamedSharding(mesh, PartitionSpec()))
        self.compiled = jax.jit(self._update, donate_argnums=1)

    def __call__(self, state: State, tokens_MBS: np.ndarray, supervised_MBS: np.ndarray, features: tuple | None = None):
        batch = jax.device_put((tokens_MBS, supervised_MBS, features), self.batch_sharding)
        return self.compiled(self.target, state, *batch)

    def base_weight(self, step: Array | int) -> Array:
        return objective.base_weight(step, self.total_steps, self.objective.base_start, self.objective.base_ratio)

    def learning_rate(self, step: Array | int) -> Array:
        return schedule(step, self.total_steps, self.optimization)

    def gradient(self, parameters: dict[str, Array], target: Target, key: Array, weight, tokens_BS, supervised_BS, features=None):
        """The objective's sums over one micro-batch at freshly drawn anchors, and the gradient of their numerator, as parameters are."""
        drafter = checkpoint.assemble(self.shape, {path: value.astype(self.dtype) for path, value in parameters.items()})
        if features is None:
            features = capture(target, self.config.target_layer_ids, tokens_BS)
        chunk = self.objective.chunk
        most = -(-(tokens_BS.shape[1] - 1) // chunk) * chunk  # whole chunks that hold every anchor of a narrow batch
        anchors = sample_anchors(key, supervised_BS, min(self.objective.anchors, most))
        blocks = make_blocks(tokens_BS, supervised_BS, *anchors, self.config.max_proposals)
        work = self.objective.gamma, chunk, weight
        sums, gradient = objective.sums_and_gradient(drafter, target.embedder, features, blocks, *work)
        return sums, checkpoint.leaves(gradient)

    def _update(self, target: Target, state: State, tokens_MBS, supervised_MBS, features):
        key = jax.random.fold_in(jax.random.key(self.seed), state.step)
        weight = self.base_weight(state.step)

        def accumulate(total, at):
            key, micro = at
            return jax.tree.map(jnp.add, total, self.gradient(state.parameters, target, key, weight, *micro)), None

        keys = jax.random.split(key, tokens_MBS.shape[0])
        nothing = Sums.zero(), jax.tree.map(jnp.zeros_like, state.parameters)
        (sums, gradient), _ = jax.lax.scan(accumulate, nothing, (keys, (tokens_MBS, supervised_MBS, features)))
        gradient = jax.tree.map(lambda g: g / (sums.weight + 1e-6), gradient)
        changes, optimizer = self.optimizer.update(gradient, state.optimizer, state.parameters)
        parameters = jax.tree.map(jnp.add, state.parameters, changes)
        return State(parameters, optimizer, state.step + 1), sums


def step_function(update: DrafterUpdate, batch: Callable, accumulate: int) -> Callable[[State, int], tuple[State, Sums]]:
    """update(state, step) over the batches `accumulate * step` and on; `batch(number)` gives (tokens, supervised[, features])."""

    def run(state: State, step: int) -> tuple[State, Sums]:
        parts = [batch(accumulate * step + i) for i in range(accumulate)]
        return update(state, *jax.tree.map(lambda *arrays: np.stack(arrays), *parts))

    return run
