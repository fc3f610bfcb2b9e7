"""What the command lines share: strict options, one-line errors, exit codes, progress."""

import argparse
import contextlib
import difflib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence

from tqdm import tqdm

from domino_jax.errors import InputError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class Parser(argparse.ArgumentParser):
    """Accepts no abbreviations; names the nearest option when one is misspelt."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message: str):
        raise InputError(f"{message} (see {self.prog} --help)")

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        arguments, unknown = self.parse_known_args(argv)
        if unknown:
            found = next((word for word in unknown if word.startswith("-")), unknown[0])
            options = [option for action in self._actions for option in action.option_strings if option.startswith("--")]
            name = found.split("=")[0]
            close = difflib.get_close_matches(name, options, n=1, cutoff=0)
            nearest = [*(option for option in options if option.startswith(name)), *close][0]
            raise InputError(f"unknown argument {found}, expected one of the options of {self.prog} --help (the nearest is {nearest})")
        return arguments


def number(low: int) -> Callable[[str], int]:
    """An option's type: an integer of at least `low`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer, expected one of at least {low}") from None
        if value < low:
            raise argparse.ArgumentTypeError(f"{value} is too small, expected at least {low}")
        return value

    return parse


def say(message: str) -> None:
    """One line on stderr."""
    with tqdm.external_write_mode(file=sys.stderr):  # a bar makes room
        print(" ".join(message.splitlines()), file=sys.stderr, flush=True)


def progress(label: str) -> Callable[[Iterable, int], Iterable]:
    """A progress bar on stderr while it is a terminal; elsewhere nothing."""
    return lambda items, total: tqdm(items, desc=label, total=total, leave=False, disable=None, file=sys.stderr)


def transfer(label: str) -> Callable[[Iterable, int], Iterator]:
    """The same over (name, array) pairs, counting bytes, with the time left."""

    def bar(items: Iterable, total: int) -> Iterator:
        options = dict(unit="B", unit_scale=True, unit_divisor=1000)
        with tqdm(desc=label, total=total, leave=False, disable=None, file=sys.stderr, **options) as counted:
            for name, array in items:
                yield name, array
                counted.update(array.nbytes)

    return bar


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt as SIGINT does, unless whoever started or called this handles it otherwise; and none is lost."""
    hook = sys.unraisablehook
    decided = threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    if not decided:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.unraisablehook = _interrupt_again(hook)
    try:
        yield
    finally:
        if not decided:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.unraisablehook = hook


def _interrupt_again(hook: Callable) -> Callable:
    """Python swallows what is raised inside a callback, as JAX's at each garbage collection: such an interrupt comes again soon after."""

    def swallowed(lost) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            hook(lost)
            return
        again = threading.Timer(0.01, signal.pthread_kill, [threading.main_thread().ident, signal.SIGTERM])
        again.daemon = True
        again.start()

    return swallowed


def _but_closed_loops(lost) -> None:
    """A hook: when a write of Orbax's fails, those under way find its event loop closed. That is the same failure, said once already."""
    if not (lost.exc_type is RuntimeError and "loop is closed" in str(lost.exc_value)):
        sys.__unraisablehook__(lost)


def run(command: Callable[[Sequence[str] | None], int], argv: Sequence[str] | None) -> int:
    """The exit status of a command: what went wrong is one line on stderr, a traceback only with --debug. argv None: the process's own."""
    debug = "--debug" in (sys.argv[1:] if argv is None else argv)
    if argv is None:  # for good, since threads outlast the command
        sys.unraisablehook = _but_closed_loops
    try:
        with interruptible():
            status = command(argv)
            sys.stdout.flush()
            return status
    except BrokenPipeError:  # the reader has gone: it has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        lines = str(error).strip().splitlines() or [type(error).__name__]
        if isinstance(error, InputError):
            say(f"error: {error}")
            return BAD_INPUT
        if "RESOURCE_EXHAUSTED" in str(error):
            say(f"error: the device is out of memory ({lines[0]}); lower --batch-size, --max-context or --pool-size")
        else:
            say(f"error: {type(error).__name__}: {lines[0]} (unexpected; --debug shows the traceback)")
        return FAILED
