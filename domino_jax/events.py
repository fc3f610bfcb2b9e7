"""What goes in and what comes out of the engine: prompts, events, results."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prompt:
    """Token ids to continue. `max_new_tokens` None: what the run says. `id` None: its place among the prompts.

    `sampling` holds what differs from the run's: temperature, top_k, top_p, min_p, seed; `stop`, `stop_token_ids`, `min_tokens` and
    `n` are the run's where they are None. `where` names the prompt in errors, if it came from somewhere (a file and line, an option).
    """

    ids: tuple[int, ...]
    id: str | int | None = None
    max_new_tokens: int | None = None
    where: str | None = None
    sampling: dict[str, float | int] | None = None
    stop: tuple[str, ...] | None = None
    stop_token_ids: tuple[int, ...] | None = None
    min_tokens: int | None = None
    n: int | None = None


@dataclass(frozen=True)
class Round:
    """One round of one row: the verified token it started from and its absolute position, the proposals, how many stood."""

    start: int
    verified: int
    proposals: tuple[int, ...]
    accepted: int


@dataclass(frozen=True)
class Check:
    """A result against the same prompt decoded in check mode. `margin`: the target's top-two margin at the first difference."""

    equal: bool
    first_difference: int | None
    margin: float | None


@dataclass
class Result:
    """One answer to one prompt: its `sample`-th. `output_ids` holds new tokens only, a stop id that ended it included.

    `logprobs` are the natural logarithms of the probabilities that the target gives to the output tokens, at temperature 1 and
    before any filter. `draft_seconds` and `verify_seconds` are what the host waited for these programs in the answer's rounds; they and
    the host's own work make up `decode_seconds`. `cached_tokens` of the prompt were in the cache already.
    """

    id: str | int
    prompt_ids: tuple[int, ...]
    sample: int = 0
    cached_tokens: int = 0
    output_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str | None = None  # without the stop token; None without a tokenizer
    finish_reason: str | None = None  # "stop", "length", or "error"
    error: str | None = None  # why the row failed; it then has no output and no text
    acceptance_lengths: list[int] = field(default_factory=list)  # accepted + bonus of each round, before any cut
    prefill_seconds: float = 0.0  # wall clock, compilation left out
    decode_seconds: float = 0.0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0
    trace: list[Round] | None = None
    check: Check | None = None

    @property
    def rounds(self) -> int:
        """Rounds this row took part in."""
        return len(self.acceptance_lengths)

    @property
    def mean_acceptance_length(self) -> float | None:
        return sum(self.acceptance_lengths) / self.rounds if self.rounds else None

    @property
    def tokens_per_round(self) -> float | None:
        """Emitted tokens a round: the first token, which prefill gives, is left out."""
        return (len(self.output_ids) - 1) / self.rounds if self.rounds and self.error is None else None


@dataclass(frozen=True)
class Compiled:
    """A program was compiled (or found in the persistent cache) before the run could go on."""

    program: str
    batch: int
    capacity: int
    seconds: float
    cached: bool


@dataclass(frozen=True)
class Started:
    """The prompt of answer number `index` is in the cache. Answers are numbered as the prompts stand, the `n` of each in a row."""

    index: int
    prompt_tokens: int
    prefill_seconds: float


@dataclass(frozen=True)
class Tokens:
    """New tokens of answer number `index`, already cut at stops and budget. `text` holds no unfinished character.

    The first `accepted` of them were proposals; what follows them is the target's bonus token.
    """

    index: int
    ids: tuple[int, ...]
    text: str | None
    accepted: int = 0
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Finished:
    """Answer number `index` is complete."""

    index: int
    result: Result


@dataclass(frozen=True)
class Ended:
    """The run is over.

    seconds: what the host waited for `prefill`, `draft` and `verify`, and `host`, all else: its own work and the caller's between
    two events. Wall clock without compilation.
    """

    seconds: dict[str, float]

    @classmethod
    def at_once(cls) -> "Ended":
        """Of a run with nothing to do."""
        return cls(dict.fromkeys(("prefill", "draft", "verify", "host"), 0.0))


Event = Compiled | Started | Tokens | Finished | Ended
