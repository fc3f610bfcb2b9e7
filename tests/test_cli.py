"""What the command lines share: how they end."""

import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from domino_jax import cli, generate
from domino_jax.errors import InputError
from domino_jax.loop import Run

ROOT = Path(__file__).parent.parent


def test_debug_shows_the_traceback_and_changes_nothing_else(capsys):
    assert generate.main(["--debug", "--target", "missing", "--prompt-ids", "5"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("error: missing")


def test_what_nobody_expected_is_one_line(run, counting_pair, monkeypatch):
    monkeypatch.setattr(Run, "events", lambda *_, **__: [][0])
    done = run("--target", counting_pair[0], "--prompt-ids", "5")
    assert (done.status, done.out) == (1, "")
    assert done.last == "error: IndexError: list index out of range (unexpected; --debug shows the traceback)"


def raises(error: BaseException):
    def command(argv):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (InputError("a: b,\nexpected c"), 2, "error: a: b, expected c\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (RuntimeError("RESOURCE_EXHAUSTED: 9 GB"), 1, "error: the device is out of memory (RESOURCE_EXHAUSTED: 9 GB); lower "),
        (KeyError("x"), 1, "error: KeyError: 'x' (unexpected; --debug shows the traceback)\n"),
    ],
)
def test_what_went_wrong_is_one_line(capsys, error, status, said):
    assert cli.run(raises(error), []) == status
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_interrupt(capsys, name):
    """SIGTERM too, and only while the command runs."""
    before = signal.getsignal(signal.SIGTERM)
    assert cli.run(lambda argv: signal.raise_signal(getattr(signal, name)), []) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_inside_a_callback_is_not_lost(capsys, name):
    """Python itself swallows it, with a traceback; JAX has a callback at each garbage collection."""

    def once(phase, info):
        gc.callbacks.remove(once)
        signal.raise_signal(getattr(signal, name))

    def command(argv):
        gc.callbacks.append(once)
        gc.collect()
        time.sleep(30)

    assert cli.run(command, []) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_who_handles_sigterm_already_goes_on_doing_it():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        assert cli.run(lambda argv: signal.raise_signal(signal.SIGTERM) or 0, []) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [1]


def test_of_what_threads_lose_only_the_same_failure_again_is_left_out():
    """Orbax closes its event loop under writes that are still at work, and each would print a traceback below our one line."""
    script = """if True:
        from domino_jax import cli
        from domino_jax.errors import InputError

        class Lost:
            def __init__(self, what): self.what = what
            def __del__(self): raise RuntimeError(self.what)

        def command(argv):
            global kept
            kept = Lost("Event loop is closed")  # goes when the process does
            Lost("Event loop is closed")
            raise InputError("no room")

        status = cli.run(command, None)
        Lost("something else")
        raise SystemExit(status)"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no room\n")
    assert "loop is closed" not in done.stderr
    assert done.stderr.endswith("RuntimeError: something else\n")


def test_a_command_may_run_in_another_thread():
    """Where no signal handler can be set."""
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(cli.run(lambda argv: 0, [])))
    thread.start()
    thread.join()
    assert statuses == [0]
