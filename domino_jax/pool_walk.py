"""The walk over a candidate pool on a GPU: two kernels a step, where XLA makes a dozen launches of a microsecond or two each.

    read      chooses the token of the position before, reads it: new GRU state; each program's share of W1 · state
    correct   adds these shares up: silu(W1 · [z ; g]), the corrected logits of its candidates, and the best of them

What the GRU makes of a token comes from the input table. The arithmetic is `domino.Walk`'s: states, sums and logits float32,
rounded where a matrix is multiplied. Only the order of sums differs.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

ROWS = 16  # of the batch that a program reads for: the least height of a tensor-core product
UNITS = 16  # of the GRU state that it makes
DEPTH = 256  # of a sum over the state that are loaded together
CANDIDATES = 64  # whose projector rows are loaded together
PROGRAMS = 256  # that keep a large GPU busy


def has_kernels(table_V3R: Array | None, w1_EX: Array) -> bool:
    """There is a table, 16 bits, whole tiles of state, and a correction width of 2^n."""
    if table_V3R is None:
        return False
    E, R = w1_EX.shape[0], table_V3R.shape[-1]
    return table_V3R.dtype.itemsize == 2 and R % DEPTH == 0 and 16 <= E <= 512 and E & (E - 1) == 0 and table_V3R.size < 2**31


@partial(jax.jit, static_argnames="interpret")
def walk(
    table_V3R: Array,
    recurrent_3RR: Array,
    w1_EX: Array,
    w2_VE: Array,
    state_BR: Array,
    token_B: Array,
    hidden_BPE: Array,
    base_BPC: Array,
    pool_BC: Array,
    name_BC: Array,
    interpret: bool = False,
) -> Array:
    """The P proposals that follow `token_B`, unread yet -> int32 [B, P].

    hidden_BPE: W1's part of each position's hidden state, float32. base_BPC: the pool's base logits, with the projector's bias.
    name_BC: the ids by which the pool's tokens are known to the table and to the caller.
    """
    (B, P, C), R = base_BPC.shape, table_V3R.shape[-1]
    read, correct = _read(B, table_V3R, w1_EX, splits_of(B, C), interpret), _correct(base_BPC, w2_VE, R, interpret)
    state_MR = jnp.pad(state_BR, ((0, -B % ROWS), (0, 0)))
    score_BZ, token_BZ = jnp.zeros((B, splits_of(B, C)), jnp.float32), jnp.broadcast_to(token_B[:, None], (B, splits_of(B, C)))
    scores, tokens = [], []
    for j in range(P):
        state_MR, share_MNE = read(score_BZ, token_BZ, table_V3R, recurrent_3RR, w1_EX, state_MR)
        score_BZ, token_BZ = correct(jnp.full(1, j, jnp.int32), share_MNE, hidden_BPE, base_BPC, pool_BC, name_BC, w2_VE)
        scores.append(score_BZ)
        tokens.append(token_BZ)
    best_BP1 = jnp.argmax(jnp.stack(scores, 1), -1, keepdims=True)
    return jnp.take_along_axis(jnp.stack(tokens, 1), best_BP1, -1)[..., 0]


def splits_of(rows: int, candidates: int) -> int:
    """How many programs share a row's candidates: a power of two, 16 candidates or more to each."""
    wanted = max(1, min(PROGRAMS // rows, 128, candidates // 16))
    return 1 << (wanted.bit_length() - 1)


def _read(B: int, table_V3R: Array, w1_EX: Array, Z: int, interpret: bool):
    """The kernel (score_BZ, token_BZ, table, recurrent, w1, state_MR) -> (state_MR, share_MNE): rows M are the batch's, filled up."""
    R, E = table_V3R.shape[-1], w1_EX.shape[0]
    M = B + -B % ROWS

    def whole(*shape):
        return pl.BlockSpec(shape, lambda m, n: (0,) * len(shape))

    return pl.pallas_call(
        partial(_read_kernel, B=B, first=w1_EX.shape[1] - R),
        grid=(M // ROWS, R // UNITS),
        in_specs=[whole(B, Z), whole(B, Z), whole(*table_V3R.shape), whole(3, R, R), whole(*w1_EX.shape), whole(M, R)],
        out_specs=[
            pl.BlockSpec((ROWS, UNITS), lambda m, n: (m, n)),
            pl.BlockSpec((ROWS, None, E), lambda m, n: (m, n, 0)),
        ],
        out_shape=[jax.ShapeDtypeStruct((M, R), jnp.float32), jax.ShapeDtypeStruct((M, R // UNITS, E), jnp.float32)],
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=3),
        interpret=interpret,
        name="read",
    )


def _read_kernel(score_ref, token_ref, table_ref, recurrent_ref, w1_ref, state_ref, next_ref, share_ref, *, B: int, first: int):
    """ROWS of the batch, UNITS of the state. `layers.gru_cell`, and what these units add to W1 · state, whose columns begin at `first`."""
    row, unit = pl.program_id(0) * ROWS, pl.program_id(1) * UNITS
    (V, _, R), dtype = table_ref.shape, table_ref.dtype
    rows, units = pl.ds(row, ROWS), pl.ds(unit, UNITS)
    row_M = jnp.minimum(row + lax.iota(jnp.int32, ROWS), B - 1)  # the tile is filled up with the last row
    score_MZ = score_ref[row_M, :]
    token_M = jnp.clip(token_ref[row_M, _first_best(score_MZ)], 0, V - 1)

    def project(turn, sums):
        at = pl.ds(turn * DEPTH, DEPTH)
        state_MX = state_ref[rows, at].astype(dtype)
        return tuple(total + _product(state_MX, recurrent_ref[gate, units, at]) for gate, total in enumerate(sums))

    nothing_MU = jnp.zeros((ROWS, UNITS), jnp.float32)
    recurrent = lax.fori_loop(0, R // DEPTH, project, (nothing_MU,) * 3)
    given = [table_ref[token_M, gate, units].astype(jnp.float32) for gate in range(3)]
    reset_MU, update_MU = (jax.nn.sigmoid(given[gate] + recurrent[gate]) for gate in (0, 1))
    new_MU = jnp.tanh(given[2] + reset_MU * recurrent[2])
    state_MU = (1 - update_MU) * new_MU + update_MU * state_ref[rows, units]
    next_ref[...] = state_MU
    share_ref[...] = _product(state_MU.astype(dtype), w1_ref[:, pl.ds(first + unit, UNITS)])


def _correct(base_BPC: Array, w2_VE: Array, R: int, interpret: bool):
    """The kernel (position, share_MNE, hidden_BPE, base_BPC, pool_BC, name_BC, w2_VE) -> (score_BZ, token_BZ), the best of each split."""
    (B, P, C), (V, E), N = base_BPC.shape, w2_VE.shape, R // UNITS
    Z = splits_of(B, C)
    pool = pl.BlockSpec((None, C), lambda b, z: (b, 0))
    best = pl.BlockSpec((None, 1), lambda b, z: (b, z))
    return pl.pallas_call(
        partial(_correct_kernel, splits=Z),
        grid=(B, Z),
        in_specs=[
            pl.BlockSpec((1,), lambda b, z: (0,)),
            pl.BlockSpec((None, N, E), lambda b, z: (b, 0, 0)),
            pl.BlockSpec((None, P, E), lambda b, z: (b, 0, 0)),
            pl.BlockSpec((None, P, C), lambda b, z: (b, 0, 0)),
            pool,
            pool,
            pl.BlockSpec((V, E), lambda b, z: (0, 0)),
        ],
        out_specs=[best, best],
        out_shape=[jax.ShapeDtypeStruct((B, Z), jnp.float32), jax.ShapeDtypeStruct((B, Z), jnp.int32)],
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=2),
        interpret=interpret,
        name="correct",
    )


def _correct_kernel(position_ref, share_ref, hidden_ref, base_ref, pool_ref, name_ref, w2_ref, score_ref, token_ref, *, splits: int):
    """One row and split of its pool, a tile of candidates at a time. A split that is not whole tiles repeats the last candidate."""
    position, C, dtype = position_ref[0], pool_ref.shape[0], w2_ref.dtype
    inner_E = jax.nn.silu(hidden_ref[position, :] + share_ref[...].sum(0)).astype(dtype).astype(jnp.float32)
    mine = -(-C // splits)
    start = pl.program_id(1) * mine
    tile = min(CANDIDATES, max(16, 1 << (mine - 1).bit_length()))

    def consider(turn, best):
        place_C = jnp.minimum(start + turn * tile + lax.iota(jnp.int32, tile), C - 1)
        correction_C = (w2_ref[pool_ref[place_C], :].astype(jnp.float32) * inner_E[None]).sum(1)
        score_C = base_ref[position, place_C].astype(jnp.float32) + correction_C
        return tuple(jnp.where(score_C > best[0], new, old) for new, old in zip((score_C, place_C), best, strict=True))

    worst_C, last_C = jnp.full((tile,), -jnp.inf, jnp.float32), jnp.full((tile,), C - 1, jnp.int32)
    score_C, place_C = lax.fori_loop(0, -(-mine // tile), consider, (worst_C, last_C))
    score_ref[0] = score_C.max()
    token_ref[0] = name_ref[jnp.where(score_C == score_C.max(), place_C, C - 1).min()]


def _first_best(score_MX: Array) -> Array:
    """The place of each row's largest score, the first of equals -> int32 [M]."""
    X = score_MX.shape[-1]
    equal_MX = score_MX == score_MX.max(-1, keepdims=True)
    place_MX = lax.broadcasted_iota(jnp.int32, score_MX.shape, 1)
    return jnp.minimum(jnp.where(equal_MX, place_MX, X).min(-1), X - 1)  # NaN equals nothing


def _product(a_MX: Array, b_NX: Array) -> Array:
    """a times b over the last axis of both, float32."""
    return lax.dot_general(a_MX, b_NX, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
