"""Whether a drafter was made for the target beside it, as far as its checkpoint says: suspicions, for what cannot be is refused before.

A converted drafter records a fingerprint of the target it was converted with; one in speculators' format names its target.
"""

import hashlib
import json

import jax.numpy as jnp
import numpy as np

from domino_jax.checkpoint import Checkpoint
from domino_jax.text import Text

SAMPLED = ("norm_D", "layers.{last}.qkv_DKXH", "layers.{last}.down_FD")  # training changes these, rounding them again does not


def fingerprint(target: Checkpoint) -> str:
    """SHA-256 of the shape and a few weights as bfloat16: the same for any stored dtype and layout."""
    digest = hashlib.sha256(json.dumps(target.config.to_dict(), sort_keys=True).encode())
    wanted = {name.format(last=target.config.num_hidden_layers - 1) for name in SAMPLED}
    for _, array in target.source.parameters([row for row in target.rows if row.parameter in wanted], jnp.bfloat16):
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()


def oversized(target: Checkpoint, text: Text | None) -> tuple[str, ...]:
    """A tokenizer that knows more tokens than its model."""
    size = 0 if text is None else len(text.tokenizer)
    if size <= target.config.vocab_size:
        return ()
    sizes = f"{size} tokens in its tokenizer and {target.config.vocab_size} in its model"
    return (f"{target.directory} has {sizes}: prompts with others are refused",)


def suspicions(target: Checkpoint, draft: Checkpoint) -> tuple[str, ...]:
    """What speaks against a pair whose shapes agree, a sentence each."""
    made_for = getattr(draft.source, "target", None)
    if made_for is not None:
        if made_for.get("fingerprint") == fingerprint(target):
            return ()
        return (
            f"{draft.directory} was converted with the target {made_for.get('name')}, whose weights are other than {target.directory}'s",
        )
    name = draft.config.target_name
    places = f"{target.directory.resolve()} {getattr(target.source, 'origin', '')}".casefold()
    if name is None or name.rstrip("/").rpartition("/")[2].casefold() in places:
        return ()
    return (f"{draft.directory} says that it was made for {name}, which {target.directory} may not be",)
