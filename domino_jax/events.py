"""What goes in and what comes out of the engine: prompts, events, results."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prompt:
    """Token ids to continue. `max_new_tokens` None: what the run says. `id` None: its place among the prompts.

    `stop` None: the run's stop texts. `sampling` holds what differs from the run's: temperature, top_k, top_p, min_p, seed.
    `where` names the prompt in errors, if it came from somewhere (a file and line, an option).
    """

    ids: tuple[int, ...]
    id: str | int | None = None
    max_new_tokens: int | None = None
    where: str | None = None
    sampling: dict[str, float | int] | None = None
    stop: tuple[str, ...] | None = None


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
    """The answer to one prompt. `output_ids` holds new tokens only, a stop id that ended it included."""

    id: str | int
    prompt_ids: tuple[int, ...]
    output_ids: list[int] = field(default_factory=list)
    text: str | None = None  # without the stop token; None without a tokenizer
    finish_reason: str | None = None  # "stop", "length", or "error"
    error: str | None = None  # why the row failed; it then has no output and no text
    acceptance_lengths: list[int] = field(default_factory=list)  # accepted + bonus of each round, before any cut
    prefill_seconds: float = 0.0  # wall clock, compilation left out
    decode_seconds: float = 0.0
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
    """Prefill of prompt number `index` is done."""

    index: int
    prompt_tokens: int
    prefill_seconds: float


@dataclass(frozen=True)
class Tokens:
    """New tokens of prompt number `index`, already cut at stops and budget. `text` holds no unfinished character.

    The first `accepted` of them were proposals; what follows them is the target's bonus token.
    """

    index: int
    ids: tuple[int, ...]
    text: str | None
    accepted: int = 0


@dataclass(frozen=True)
class Finished:
    """Prompt number `index` is answered."""

    index: int
    result: Result


Event = Compiled | Started | Tokens | Finished
