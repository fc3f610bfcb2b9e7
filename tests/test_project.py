"""The project's own rules: import floors, size, style."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = [
    {"errors", "order", "loops"},
    {"filters", "fields", "jsonl"},
    {"rope", "formats", "directories", "events", "sampling"},
    {"config", "pool_selection"},
    {"layers", "cache", "answers", "text", "capacity", "pool", "verify"},
    {"cached_attention", "placing"},
    {"memory", "target", "dflash", "domino", "tensors", "prompts", "printers", "bar", "plot", "statistics", "cli"},
    {"vocabulary", "safetensors_files", "orbax_store", "figures", "sets"},
    {"drafter", "publish", "conversations", "tables"},
    {"programs", "checkpoint", "plan"},
    {"row", "pairing", "early"},
    {"loop"},
    {"session"},
    {"engine"},
    {"__init__"},
    {"options", "intake", "chat", "proposals"},
    {"generate", "evaluate"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
MODULES = sorted(path.stem for path in (ROOT / "domino_jax").glob("*.py"))


def imported(path: Path) -> set[str]:
    """The modules a file imports: `domino_jax.x` as x, the package's own names as __init__, others by their first name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            first, second = [*name.split("."), ""][:2]
            found.add((second if second in MODULES else "__init__") if first == "domino_jax" else first)
    return found


def test_every_module_stands_on_a_floor():
    assert sorted(FLOOR) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module):
    others = imported(ROOT / "domino_jax" / f"{module}.py")
    assert not others & {"convert", "bench", "tests", "torch"}
    assert [name for name in others & set(MODULES) if FLOOR[name] >= FLOOR[module]] == []


def test_one_module_knows_transformers_and_one_knows_orbax():
    users = {name: {module for module in MODULES if name in imported(ROOT / "domino_jax" / f"{module}.py")}
             for name in ("transformers", "orbax", "safetensors")}  # fmt: skip
    assert users == {"transformers": {"text"}, "orbax": {"orbax_store"}, "safetensors": {"safetensors_files"}}


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def test_the_tracked_tree_stays_small():
    files = [ROOT / name for name in git("ls-files", "-z").decode().split("\0") if name]
    assert len(files) > 30
    assert sum(path.stat().st_size for path in files if path.exists()) < 50 * 2**20


@pytest.mark.parametrize("arguments", [["check"], ["format", "--check"]])
def test_ruff(arguments):
    done = subprocess.run([sys.executable, "-m", "ruff", *arguments, "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_importing_needs_no_accelerator_and_no_torch():
    """And starts no backend: a program may still choose its devices after the import."""
    code = (
        "import sys, domino_jax, domino_jax.generate, convert.checkpoint; from jax._src import xla_bridge; "
        "assert not xla_bridge._backends, 'backend'; assert not {'torch', 'transformers', 'orbax'} & set(sys.modules), 'import'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
