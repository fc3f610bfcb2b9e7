"""python -m domino_jax.demo.tokenizer: cuts a Qwen3 tokenizer to its first ids, for models too small for all of them.

Byte-level BPE ids are the 256 bytes, then the product of each merge in order of rank. Keeping the first ids and the merges that
make them leaves a tokenizer that splits and numbers text as the whole one does, as far as it goes. Special tokens come after.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from domino_jax import cli
from domino_jax.errors import InputError
from domino_jax.fields import read_json

SIZE = 4096
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def cut(whole: dict, size: int) -> dict:
    """The tokenizer.json of the first `size` ids, and the special tokens."""
    vocab = {token: number for token, number in whole["model"]["vocab"].items() if number < size}
    if len(vocab) != size:
        raise InputError(f"the vocabulary has {len(vocab)} ids below {size}, expected {size}")
    pairs = (merge if isinstance(merge, list) else merge.split(" ") for merge in whole["model"]["merges"])
    merges = [[left, right] for left, right in pairs if {left, right, left + right} <= vocab.keys()]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": size + i, "content": name, **flags} for i, name in enumerate(SPECIAL)]
    return {**whole, "added_tokens": added, "model": {**whole["model"], "vocab": vocab, "merges": merges}}


def write(directory: Path, whole: dict, size: int = SIZE) -> None:
    """tokenizer.json and tokenizer_config.json, with a ChatML template."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    files = {"tokenizer.json": cut(whole, size), "tokenizer_config.json": config | {"chat_template": CHAT_TEMPLATE}}
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def command(argv: Sequence[str] | None) -> int:
    p = cli.Parser(prog="python -m domino_jax.demo.tokenizer", description="Cuts a Qwen3 tokenizer to its first ids.")
    p.add_argument("source", type=Path, metavar="tokenizer.json", help="the whole tokenizer")
    p.add_argument("directory", type=Path, help="where tokenizer.json and tokenizer_config.json are written")
    p.add_argument("--size", type=cli.number(256), default=SIZE, metavar="N", help=f"ids to keep; default {SIZE}")
    p.add_argument("--debug", action="store_true", help="show tracebacks; default off")
    arguments = p.parse(argv)
    write(arguments.directory, read_json(arguments.source), arguments.size)
    return cli.DONE


if __name__ == "__main__":
    sys.exit(cli.run(command, None))
