"""Conversions in trouble: full disks, two at once, kills, odd paths, no permission. Nothing is half-written, nothing is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import pytest

import domino_jax
from convert.checkpoint import main
from domino_jax import checkpoint, directories, orbax_store
from domino_jax.errors import InputError
from domino_jax.fields import read_json
from tests.models import refusal, write_random_pair, write_speaking_pair

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    return write_random_pair(tmp_path_factory.mktemp("random"))


def arguments(pair: tuple[Path, Path], out: Path, *options: str) -> list[str]:
    return ["--target", str(pair[0]), "--draft", str(pair[1]), "--out", str(out), *options]


def start(pair: tuple[Path, Path], out: Path, *options: str, first: str = "pass") -> subprocess.Popen:
    """The command in a process of its own, which runs the statements `first` before it."""
    script = f"import sys; {first}; from convert.checkpoint import main; sys.exit(main())"
    command = [sys.executable, "-c", script, *arguments(pair, out, *options)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


# a file may not grow past 8 KB: the process sees what a full disk gives
SMALL_FILES = (
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"
)


@pytest.mark.parametrize("to", ["orbax", "hf"])
def test_a_full_disk_leaves_nothing_and_loses_nothing(to, pair, tmp_path):
    assert main(arguments(pair, tmp_path / "old")) == 0
    before = snapshot(tmp_path)
    for out, options in ((tmp_path / "new", []), (tmp_path / "old", ["--force"])):
        process = start(pair, out, "--to", to, *options, first=SMALL_FILES)
        printed, err = process.communicate(timeout=120)
        assert (process.returncode, printed) == (2, "")
        assert err.startswith(f"error: {out}: cannot be written (File too large), expected room for all of it")
        assert err.count("\n") == 1
    assert snapshot(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_too_little_room_is_known_before_anything_is_written(pair, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000))
    assert main(arguments(pair, tmp_path / "out")) == 2
    needed = sum(checkpoint.open_any(directory).bytes() for directory in pair)
    assert f"{tmp_path}: has 1,000 bytes free, expected at least {needed:,} for out" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--force"]])
def test_of_two_conversions_to_one_place_one_wins_and_it_is_whole(options, pair, tmp_path):
    processes = [start(pair, tmp_path / "out", *options) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    statuses = sorted(process.returncode for process in processes)
    assert statuses == ([0, 0] if options else [0, 2]), errors
    if not options:
        assert any("meanwhile, expected a new directory" in err or "exists already" in err for err in errors)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    domino_jax.load(str(tmp_path / "out" / "target"), str(tmp_path / "out" / "draft"))


def at_once(make: Callable[[int], None]) -> None:
    """Four threads, each with its number."""
    threads = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_of_many_threads_that_finish_at_once_one_makes_the_directory(tmp_path):
    """The rename decides, not a look at the place before it."""
    ready, won, refused = threading.Barrier(4), [], []

    def make(number: int) -> None:
        try:
            with directories.built(tmp_path / "out", replace=False) as building:
                (building / "who").write_text(str(number))
                ready.wait()
            won.append(str(number))
        except InputError as error:
            refused.append(str(error))

    for attempt in range(50):
        at_once(make)
        assert (len(won), len(refused)) == (1 + attempt, 3 + 3 * attempt)
        assert refused[-1] == f"{tmp_path / 'out'}: was made by another process meanwhile, expected a new directory"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out" / "who").read_text() == won[-1]
        shutil.rmtree(tmp_path / "out")


def test_of_many_threads_that_replace_at_once_all_succeed_and_the_last_one_stays(tmp_path):
    ready, won = threading.Barrier(4), []

    def make(number: int) -> None:
        with directories.built(tmp_path / "out", replace=True) as building:
            for name in "abc":
                (building / name).write_text(str(number))
            ready.wait()
        won.append(number)

    for attempt in range(50):
        at_once(make)
        assert len(won) == 4 * (attempt + 1)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert len({(tmp_path / "out" / name).read_text() for name in "abc"}) == 1


@pytest.mark.parametrize("option", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("to", ["nowhere", "itself"])
def test_a_link_that_leads_nowhere_is_replaced_if_at_all(to, option, pair, tmp_path):
    link = tmp_path / "itself"
    link.symlink_to(tmp_path / to)
    assert main(arguments(pair, link, *option)) == (0 if option else 2)
    assert link.is_symlink() != bool(option)
    assert [path.name for path in tmp_path.iterdir()] == ["itself"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_conversion_leaves_no_directory_and_the_next_one_works(number, pair, tmp_path):
    process = start(pair, tmp_path / "out")
    while not list(tmp_path.glob(".out.*/target/arrays*")) and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    if process.returncode != 0:  # it may have been done already
        assert not (tmp_path / "out").exists()
        assert "Traceback" not in err
        if number != signal.SIGKILL:  # which leaves a hidden directory behind
            assert process.returncode == 130
            assert list(tmp_path.iterdir()) == []
    assert main(arguments(pair, tmp_path / "out", "--force")) == 0


@pytest.mark.parametrize("name", ["with space", "naïve 你好 🙂", "line\nend", "-dash", "percent%20"])
def test_any_path_will_do(name, tmp_path, capsys):
    source = write_speaking_pair(tmp_path / name)
    assert main(arguments(source, tmp_path / name / "out", "--verify")) == 0
    converted = [str(tmp_path / name / "out" / kind) for kind in ("target", "draft")]
    said = [domino_jax.load(*map(str, pair)).generate(["hi"], max_new_tokens=16)[0].text for pair in (source, converted)]
    assert said[0] == said[1] != ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a link to nowhere", "exists already"),
        ("n" * 300, "cannot be written (File name too long)"),
        ("n" * 250, "cannot be written (File name too long)"),  # its hidden neighbour's is
        (f"{'n' * 300}/out", "cannot be written (File name too long)"),
        (os.fsdecode(b"\xff"), "is not UTF-8"),
    ],
    ids=["link", "long", "nearly", "below", "bytes"],
)
def test_a_destination_that_cannot_be_is_refused(name, words, pair, tmp_path, capfd):
    (tmp_path / "a link to nowhere").symlink_to(tmp_path / "nowhere")
    assert main(arguments(pair, tmp_path / name)) == 2
    err = capfd.readouterr().err
    assert words in err
    assert (err.count("expected"), err.count("\n")) == (1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["a link to nowhere"]


@pytest.mark.parametrize("name", ["n" * 300, "n" * 5000, "~" + "n" * 300, "nul\0"], ids=["long", "too long", "user", "NUL"])
def test_a_source_that_cannot_be_is_refused(name):
    assert "no such directory, expected a checkpoint directory" in refusal(name)


@pytest.mark.parametrize("denied", ["directory", "config.json", "model.safetensors"])
def test_what_may_not_be_read_is_named(denied, pair, tmp_path, monkeypatch):
    directory = shutil.copytree(pair[1], tmp_path / "draft")
    if os.geteuid() != 0:
        (directory if denied == "directory" else directory / denied).chmod(0)
    elif denied == "directory":  # whom permissions do not bind
        monkeypatch.setattr(os, "listdir", denying(os.listdir))
    elif denied == "config.json":
        monkeypatch.setattr(Path, "read_text", denying(Path.read_text))
    else:
        monkeypatch.setattr("safetensors.safe_open", denying(None))
    text = refusal(directory)
    assert str(directory) in text
    assert "cannot be read" in text


def test_a_file_of_a_store_that_may_not_be_read_is_named(pair, tmp_path, monkeypatch):
    assert main(arguments(pair, tmp_path / "out")) == 0
    opened = checkpoint.open_draft(tmp_path / "out" / "draft")
    monkeypatch.setattr(orbax_store, "checksum", denying(orbax_store.checksum))
    with pytest.raises(InputError, match=r"arrays: cannot be read \(.*Permission denied\), expected what checkpoint\.json lists"):
        checkpoint.load(opened, jnp.float32)


def denying(function):
    def deny(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    return deny


def test_nothing_in_a_checkpoint_is_run(tmp_path):
    """A model file, a tokenizer class and an auto_map of the checkpoint's own: all of them would leave a mark."""
    target, draft = write_speaking_pair(tmp_path)
    mark = tmp_path / "ran"
    for name in ("modeling_x.py", "tokenization_x.py", "configuration_x.py"):
        (target / name).write_text(f"open({str(mark)!r}, 'w')\n")
    for name, key in (("config.json", "AutoModelForCausalLM"), ("tokenizer_config.json", "AutoTokenizer")):
        raw = read_json(target / name)
        module = "modeling_x.X" if name == "config.json" else ["tokenization_x.X", "tokenization_x.X"]
        (target / name).write_text(json.dumps(raw | {"auto_map": {key: module, "AutoConfig": "configuration_x.X"}}))
    result = domino_jax.load(str(target), str(draft)).generate(["hi"], max_new_tokens=4)
    assert result[0].output_ids
    assert not mark.exists()


def test_memory_of_a_conversion_stays_within_its_limits(tmp_path):
    """A gigabyte and a half, through the script that measures it."""
    command = [sys.executable, "-m", "tests.convert_memory", "--gigabytes", "1.5", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 2
