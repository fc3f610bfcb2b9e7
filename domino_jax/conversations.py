"""Conversations whose answers are the model's own: a turn is asked when the one before it is answered. A plain prompt is one turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from domino_jax.capacity import DEFAULT_MAX_NEW_TOKENS
from domino_jax.events import Prompt, Result
from domino_jax.figures import Answers
from domino_jax.prompts import Request
from domino_jax.text import Text


@dataclass(frozen=True)
class Conversation:
    """A line of a set. `budget`: new tokens of each answer. `context`: positions that the target has for all of it."""

    request: Request
    text: Text | None
    budget: int
    context: int

    @classmethod
    def of(cls, request: Request, text: Text | None, max_new_tokens: int | None, context: int) -> "Conversation":
        """Without `max_new_tokens`, its own or those given, an answer has 512, or its share of what the context leaves to the answers."""
        asked = request.max_new_tokens or max_new_tokens
        talk = cls(request, text, asked or DEFAULT_MAX_NEW_TOKENS, context)
        if asked is not None:
            return talk
        share = (context - len(talk.prompt(talk.unsaid).ids)) // talk.turns
        return replace(talk, budget=max(1, min(DEFAULT_MAX_NEW_TOKENS, share)))

    @property
    def turns(self) -> int:
        return len(self.request.turns or [None])

    @property
    def unsaid(self) -> list[str]:
        """Empty answers to all turns but the last."""
        return [""] * (self.turns - 1)

    def prompt(self, answers: Sequence[str]) -> Prompt:
        """The turn after these answers. Raises InputError where the target's directory cannot make tokens of it."""
        request = self.request
        if request.turns:
            where = f"{request.where}, turn {len(answers) + 1}"
            request = replace(request, turns=None, messages=messages(request.turns, answers), where=where)
        prompt = request.encode(self.text, raw=False, thinking=False)
        room = self.context - len(prompt.ids)  # an answer's text may come back as more tokens than it was written in
        return replace(prompt, max_new_tokens=max(1, min(self.budget, room)))

    def longest(self) -> Prompt:
        """The last turn after answers that took all of their budget: what a plan must have room for."""
        prompt = self.prompt(self.unsaid)
        earlier = len(self.unsaid) * self.budget
        where = f"{prompt.where} after answers of {self.budget} tokens" if earlier else prompt.where
        return replace(prompt, ids=prompt.ids + (0,) * earlier, max_new_tokens=self.budget, where=where)


def messages(turns: Sequence[str], answers: Sequence[str]) -> list[dict[str, str]]:
    """The user's turns up to the first that has no answer, with the answers between them."""
    said = [{"role": "user", "content": turns[0]}]
    for answer, turn in zip(answers, turns[1:], strict=False):
        said += [{"role": "assistant", "content": answer}, {"role": "user", "content": turn}]
    return said


def converse(
    talks: Sequence[Conversation],
    ask: Callable[[list[Prompt]], tuple[list[Result], float]],
    history: Sequence[Sequence[Result]] | None = None,
) -> Answers:
    """Asks all conversations turn by turn. `ask` gives the results of some prompts, and the seconds they took.

    A turn follows the answers of `history`, without one those just given: ways of decoding that share a history answer the same
    prompts, also where their own answers would part.
    """
    rows: list[list[Result]] = [[] for _ in talks]
    seconds = 0.0
    for turn in range(max(talk.turns for talk in talks)):
        going = [number for number, talk in enumerate(talks) if turn < talk.turns]
        before = rows if history is None else history
        results, spent = ask([talks[number].prompt([row.text for row in before[number][:turn]]) for number in going])
        for number, result in zip(going, results, strict=True):
            rows[number].append(result)
        seconds += spent
    return Answers(rows, seconds)
