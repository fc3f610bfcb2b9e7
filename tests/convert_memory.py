"""How much memory a conversion takes: python -m tests.convert_memory [--gigabytes 1]

Makes a random target of about that size in DIR, converts it to Orbax, and loads the result; each in a process of its own whose peak of
*anonymous* memory is watched (what mapped files take of the page cache does not count), above what the imports took. Limits: 1 GiB and
6 times the largest tensor to convert, 1.4 times the stored size to load. Exit status 1 if one is missed.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from convert.checkpoint import main as convert
from domino_jax import checkpoint, publish, safetensors_files
from domino_jax.config import TargetConfig
from domino_jax.tensors import target_rows

WIDTH = 1024
SHAPE = dict(model_type="qwen3", vocab_size=32768, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_attention_heads=16,
             num_key_value_heads=8, head_dim=64, rope_theta=1e6, max_position_embeddings=4096)  # fmt: skip


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def watched(work) -> int:
    """The peak of anonymous memory while it works, above what there was before."""
    before, peak, done = anonymous(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], anonymous())

    thread = threading.Thread(target=watch)
    thread.start()
    work()
    done.set()
    thread.join()
    return peak[0] - before


def make(directory: Path, gigabytes: float) -> None:
    """A published target in bfloat16, in shards."""

    def of(layers: int) -> list:
        return target_rows(TargetConfig.from_dict(SHAPE | {"num_hidden_layers": layers}))

    def size(layers: int) -> int:
        return sum(2 * int(np.prod(shape)) for row in of(layers) for shape in row.sources.values())

    layers = next(n for n in range(1, 1000) if size(n) >= gigabytes * 1e9)
    directory.mkdir()
    publish.write_config(directory, SHAPE | {"num_hidden_layers": layers})
    rng = np.random.default_rng(0)
    noise = rng.integers(0x3C00, 0x3E00, SHAPE["vocab_size"] * WIDTH, np.uint16).view(jnp.bfloat16)  # finite numbers of size 0.01
    shapes = [item for row in of(layers) for item in row.sources.items()]
    names = ((name if name == "lm_head.weight" else f"model.{name}", shape) for name, shape in shapes)
    safetensors_files.SHARD_BYTES = 1 << 28
    safetensors_files.write_tensors(directory, ((name, noise[: int(np.prod(shape))].reshape(shape)) for name, shape in names))


def measure(step: str, directory: Path) -> int:
    """One of the two, here -> the exit status."""
    jax.config.update("jax_platforms", "cpu")
    stored = sum(path.stat().st_size for path in (directory / "source").glob("*.safetensors"))
    began = time.perf_counter()
    if step == "convert":
        largest = 2 * SHAPE["vocab_size"] * WIDTH
        limit, words = (1 << 30) + 6 * largest, ["--target", str(directory / "source"), "--out", str(directory / "out")]
        peak = watched(lambda: convert(words))
    else:
        opened, limit = checkpoint.open_target(directory / "out" / "target"), int(1.4 * stored)
        peak = watched(lambda: jax.block_until_ready(jax.tree.leaves(checkpoint.load(opened, jnp.bfloat16))))
    verdict = "ok  " if peak <= limit else "FAIL"
    seconds = time.perf_counter() - began
    print(
        f"{verdict}  {step}: {stored / 1e9:.2f} GB stored, peak {peak / 1e9:.2f} GB of {limit / 1e9:.2f} allowed, {seconds:.1f} s",
        flush=True,
    )
    return int(peak > limit)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--step", choices=["convert", "load"], help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        return measure(arguments.step, arguments.directory)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        make(Path(directory) / "source", arguments.gigabytes)
        command = [sys.executable, "-m", "tests.convert_memory", "--directory", directory, "--step"]
        return max(subprocess.run([*command, step]).returncode for step in ("convert", "load"))


if __name__ == "__main__":
    sys.exit(main())
