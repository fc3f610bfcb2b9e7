"""`Engine.astream`: the events of `stream`, and an event loop that goes on meanwhile."""

import asyncio
import gc
import threading
import time
from contextlib import aclosing

import jax
import pytest

from domino_jax import Compiled, Ended, Engine, Finished, InputError, Prompt, Started, Tokens
from domino_jax.loop import Run

ASK = dict(max_new_tokens=20, max_context=47, batch_size=2)
PROMPTS = [[0], [20], [5, 6]]
TEXTS = [list(range(1, 21)), list(range(21, 29)), list(range(7, 27))]


@pytest.fixture(scope="module", autouse=True)
def compiled(counting):
    counting.generate(PROMPTS, **ASK)


@pytest.fixture
def slow(monkeypatch):
    """Every round takes a while on the device; counts them."""
    rounds, original = [], Run.round

    def round(self, rows):
        time.sleep(0.05)
        rounds.append(threading.current_thread())
        original(self, rows)

    monkeypatch.setattr(Run, "round", round)
    return rounds


async def collect(engine: Engine, prompts=PROMPTS, **options) -> list:
    return [event async for event in engine.astream(prompts, **ASK | options)]


def plain(events) -> list[tuple]:
    """Events without the clock."""
    found = []
    for event in events:
        if isinstance(event, Finished):
            found.append((event.index, event.result.output_ids, event.result.logprobs, event.result.acceptance_lengths))
        elif isinstance(event, Started):
            found.append((event.index, event.prompt_tokens))
        elif isinstance(event, Tokens):
            found.append((event.index, event.ids, event.text, event.accepted, event.logprobs))
        else:
            found.append(type(event))
    return found


def texts(events) -> list[list[int]]:
    found = {event.index: event.result.output_ids for event in events if isinstance(event, Finished)}
    return [found[index] for index in sorted(found)]


async def ticking(gaps: list[float]) -> None:
    """Notes how long each turn of the event loop took."""
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


@pytest.mark.parametrize("options", [{}, {"exact": True}, {"temperature": 1.0, "seed": 3, "n": 2}])
def test_the_events_are_those_of_stream(counting, options):
    expected = [event for event in counting.stream(PROMPTS, **ASK | options) if not isinstance(event, Compiled)]
    assert plain(asyncio.run(collect(counting, **options))) == plain(expected)
    assert isinstance(expected[-1], Ended)


def test_compilation_is_announced(counting):
    engine = Engine(counting.target, counting.drafter, counting.dtype, stop_ids=counting.stop_ids)
    events = asyncio.run(collect(engine))
    assert [event.program for event in events[:4]] == ["prefill", "absorb", "draft", "verify"]
    assert texts(events) == TEXTS


def test_no_prompts(counting):
    assert [type(event) for event in asyncio.run(collect(counting, []))] == [Ended]


def test_the_event_loop_is_not_blocked(counting, slow):
    """While rounds take 50 ms each another task has its turn every few."""

    async def main():
        gaps = []
        ticker = asyncio.create_task(ticking(gaps))
        events = await collect(counting, exact=True)
        ticker.cancel()
        return events, gaps

    events, gaps = asyncio.run(main())
    assert texts(events) == TEXTS
    assert len(slow) > 20
    assert {thread is threading.main_thread() for thread in slow} == {False}
    assert len(gaps) > 2 * len(slow)  # a blocked loop has one turn a round


def test_what_is_refused_is_raised(counting):
    """Before anything is done, to the one who awaits the first event."""
    with pytest.raises(InputError, match="prompt 1: token id 99"):
        asyncio.run(collect(counting, [[1], [99]]))
    with pytest.raises(InputError, match="prompts is a text"):
        asyncio.run(collect(counting, "hello"))
    assert texts(asyncio.run(collect(counting))) == TEXTS


def test_an_error_in_mid_run_is_raised(counting, monkeypatch):
    original = Run.round

    def round(self, rows):
        if len(self.rows[0].result.output_ids) > 3:
            raise RuntimeError("the device is gone")
        original(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "round", round)
        with pytest.raises(RuntimeError, match="the device is gone"):
            asyncio.run(collect(counting))
    assert texts(asyncio.run(collect(counting))) == TEXTS


def living() -> tuple[int, int]:
    """Arrays and threads; those that are about to end have ended."""
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(5)
    gc.collect()
    return len(jax.live_arrays()), threading.active_count()


def test_left_in_the_midst(counting, slow):
    """A consumer that breaks off: no round after the one under way, no thread and no array left, and the engine as it was."""

    async def main(count: int):
        async with aclosing(counting.astream(PROMPTS, **ASK, exact=True)) as events:
            async for event in events:
                count -= isinstance(event, Tokens)
                if not count:
                    break
        done = len(slow)
        await asyncio.sleep(0.2)
        assert len(slow) == done < 15

    asyncio.run(main(1))
    before = living()
    for count in (1, 5):
        slow.clear()
        asyncio.run(main(count))
    assert living() == before
    assert texts(asyncio.run(collect(counting))) == TEXTS


def test_cancelled_in_mid_run(counting, slow):
    """While the thread waits for the device: the round under way ends, the run is closed, the next one is well."""

    async def main():
        events = []

        async def consume():
            async for event in counting.astream(PROMPTS, **ASK, exact=True):
                events.append(event)

        task = asyncio.create_task(consume())
        while not any(isinstance(event, Tokens) for event in events):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.2)
        rounds = len(slow)
        await asyncio.sleep(0.2)
        assert len(slow) == rounds < 15
        return await collect(counting)

    assert texts(asyncio.run(main())) == TEXTS
    before = living()
    assert texts(asyncio.run(main())) == TEXTS
    assert living() == before


def test_cancelling_does_not_block_the_event_loop(counting, monkeypatch):
    """Even while the thread is at something long, as a compilation is."""
    entered, original = threading.Event(), Run.round

    def round(self, rows):
        entered.set()
        time.sleep(0.8)
        original(self, rows)

    monkeypatch.setattr(Run, "round", round)

    async def main():
        gaps = []
        ticker, task = asyncio.create_task(ticking(gaps)), asyncio.create_task(collect(counting))
        while not entered.is_set():
            await asyncio.sleep(0.005)
        gaps.clear()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.02)
        ticker.cancel()
        return gaps

    assert max(asyncio.run(main())) < 0.5


def test_two_at_once_on_one_engine(counting):
    """Each has its own state: interleaved, with other options, on two threads."""

    async def main():
        return await asyncio.gather(
            collect(counting),
            collect(counting, PROMPTS[::-1], exact=True),
            collect(counting, [Prompt((0,), max_new_tokens=5)]),
            collect(counting, temperature=1.0, seed=3, n=2),
        )

    drawn = texts(counting.stream(PROMPTS, **ASK, temperature=1.0, seed=3, n=2))
    for _ in range(5):
        found = [texts(events) for events in asyncio.run(main())]
        assert found == [TEXTS, TEXTS[::-1], [[1, 2, 3, 4, 5]], drawn]


def test_two_at_once_that_must_compile(counting):
    """Both find the engine without programs; both are served, and the engine has each program once."""
    engine = Engine(counting.target, counting.drafter, counting.dtype, stop_ids=counting.stop_ids)

    async def main():
        return await asyncio.gather(collect(engine), collect(engine, exact=True))

    assert [texts(events) for events in asyncio.run(main())] == [TEXTS, TEXTS]
    assert sorted(function.__name__ for function, *_ in engine.executables) == ["absorb", "draft", "prefill", "verify"]
