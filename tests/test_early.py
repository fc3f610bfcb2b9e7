"""What is compiled while weights load: the same programs, announced and failing where they always were, and stopped in time."""

import threading
from types import SimpleNamespace

import jax
import pytest

from domino_jax import Compiled, Prompt, checkpoint, programs
from domino_jax.engine import open_pair

PROMPTS = [Prompt((0,)), Prompt((3, 4), n=2)]
OPTIONS = dict(max_new_tokens=12, batch_size=2, temperature=1.0)
PROGRAMS = ["prefill", "absorb", "fork", "copy", "draft", "verify"]


@pytest.fixture
def pair(noisy_pair):
    return open_pair(*map(str, noisy_pair))


@pytest.fixture
def compilations(monkeypatch) -> list[tuple[str, str]]:
    """Which program was compiled in which thread."""
    found, compile_ahead = [], programs.compile_ahead

    def recorded(function, modules, arguments, *rest):
        found.append((function.__name__, threading.current_thread().name))
        assert any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((modules, arguments))) == (found[-1][1] == "MainThread")
        return compile_ahead(function, modules, arguments, *rest)

    monkeypatch.setattr(programs, "compile_ahead", recorded)
    return found


@pytest.mark.parametrize("exact", [False, True])
def test_the_run_finds_what_was_compiled_while_the_weights_came(exact, pair, compilations):
    plan = pair.plan(PROMPTS, **OPTIONS)
    early, late = pair.load(plan=plan, exact=exact), pair.load()
    events = list(early.run(plan, exact=exact))
    names = [name for name in PROGRAMS if not (exact and name in ("absorb", "copy", "draft"))]
    assert [name for name, _ in compilations] == [event.program for event in events if isinstance(event, Compiled)] == names
    assert not [name for name, thread in compilations if thread == "MainThread"]
    texts = [[result.output_ids for result in engine.generate(PROMPTS, exact=exact, **OPTIONS)] for engine in (early, late)]
    assert texts[0] == texts[1]
    assert [name for name, thread in compilations if thread == "MainThread"] == names  # those of the late one


def test_a_program_is_the_same_for_shapes_and_for_arrays(pair):
    """To the letter: what one puts in a compile cache, the other finds there."""
    plan = pair.plan(PROMPTS, **OPTIONS)
    texts = []
    for engine in (pair.in_shapes, pair.load()):
        needed = [*engine._run(plan).needed(plan.tasks)]
        texts.append([programs.lower(one.function, one.modules, one.arguments, engine.dtype, [0]).as_text() for one in needed])
    assert len(texts[0]) == len(PROGRAMS)
    assert texts[0] == texts[1]


def test_only_the_tasks_that_are_left_count(pair, compilations):
    plan = pair.plan(PROMPTS, **OPTIONS)
    engine = pair.load(plan=plan, tasks=plan.tasks[:1])
    list(engine.run(plan, plan.tasks[:1]))
    assert [name for name, _ in compilations] == ["prefill", "absorb", "draft", "verify"]


def test_what_compiling_raises_comes_where_the_program_is_needed(pair, monkeypatch):
    def broken(*_):
        raise RuntimeError("RESOURCE_EXHAUSTED: no room")

    monkeypatch.setattr(programs, "compile_ahead", broken)
    plan = pair.plan(PROMPTS, **OPTIONS)
    engine = pair.load(plan=plan)
    with pytest.raises(RuntimeError, match="no room"):
        next(engine.run(plan))


@pytest.mark.parametrize("stopped_by", [KeyboardInterrupt, OSError])
def test_when_loading_stops_no_further_program_is_begun(stopped_by, pair, compilations, monkeypatch):
    """The thread is in its first program until the load has failed; then it ends."""
    loading, recorded = threading.Event(), programs.compile_ahead

    def slow(*arguments):
        assert loading.wait(60)
        return recorded(*arguments)

    def stopped(*_, **__):
        raise stopped_by

    monkeypatch.setattr(programs, "compile_ahead", slow)
    monkeypatch.setattr(checkpoint, "load", stopped)
    before = {*threading.enumerate()}
    with pytest.raises(stopped_by):
        pair.load(plan=pair.plan(PROMPTS, **OPTIONS))
    loading.set()
    for thread in {*threading.enumerate()} - before:
        thread.join(60)
    assert [name for name, _ in compilations] == ["prefill"]


def test_a_hit_of_another_thread_is_none_of_this_program(pair, monkeypatch):
    def beside(*_):
        hit = threading.Thread(target=jax.monitoring.record_event, args=("/jax/compilation_cache/cache_hits",))
        hit.start()
        hit.join()
        return SimpleNamespace(compile=lambda: None)

    monkeypatch.setattr(programs, "lower", beside)
    plan = pair.plan(PROMPTS, **OPTIONS)
    one = next(pair.in_shapes._run(plan).needed(plan.tasks))
    assert not one.compiled(pair.dtype).cached
