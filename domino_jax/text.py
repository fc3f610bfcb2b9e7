"""Text on both sides of the token ids: tokenizer, chat template, incremental decoding, stop ids. Knows nothing of models."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokenizers.decoders import DecodeStream

from domino_jax.errors import InputError
from domino_jax.fields import LARGEST, Fields, read_json

MARK = "TURN_OF_THE_USER"  # stands for a text in a rendered template


class Text:
    """The tokenizer of a checkpoint directory."""

    def __init__(self, directory: Path):
        import transformers  # seconds of import that a target without a tokenizer never pays

        transformers.utils.logging.set_verbosity_error()
        self.directory = directory
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
            self.backend = self.tokenizer.backend_tokenizer  # only a fast tokenizer has one
        except Exception as error:  # the library raises a dozen kinds, some of them without words
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"{directory}: the tokenizer cannot be loaded ({reason}), expected a fast tokenizer's files") from error

    @classmethod
    def load(cls, directory: Path) -> "Text | None":
        """The tokenizer in `directory`, or None if there is none."""
        found = any((directory / name).exists() for name in ("tokenizer.json", "tokenizer_config.json", "vocab.json"))
        return cls(directory) if found else None

    def encode(self, text: str) -> list[int]:
        """Ids of a text as it stands."""
        return self.tokenizer.encode(text)

    def encode_chat(self, messages: list[dict], thinking: bool = False) -> list[int]:
        """Ids of a conversation through the chat template, ready for the assistant's turn."""
        if not self.tokenizer.chat_template:
            raise InputError(f"{self.directory}: the tokenizer has no chat template, expected one; use --raw for a prompt as it stands")
        with self._template():
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=thinking)
            return self.tokenizer.encode(text, add_special_tokens=False)

    def user_turn(self, opening: str = "", system: str | None = None) -> tuple[list[int], list[int]]:
        """Ids up to a user's turn, `opening`, its first words, included, and the ids of what the chat template puts after the turn."""
        if not self.tokenizer.chat_template:
            raise InputError(f"{self.directory}: the tokenizer has no chat template, expected one that says where a user's turn begins")
        messages = [{"role": "system", "content": system}] * (system is not None) + [{"role": "user", "content": MARK}]
        with self._template():
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, enable_thinking=False)
            before, *after = text.split(MARK)
            begun, *ends = (self.tokenizer.encode(part, add_special_tokens=False) for part in (before + opening, *after))
        if len(ends) != 1 or not ends[0]:
            found = "nothing after it" if len(ends) == 1 else f"it {len(ends)} times"
            raise InputError(f"{self.directory}: of a user's turn the chat template shows {found}, expected the turn once and what ends it")
        return begun, ends[0]

    @contextmanager
    def _template(self) -> Iterator[None]:
        """What the chat template raises inside is one sentence."""
        try:
            yield
        except ImportError as error:
            raise InputError(f"the chat template cannot be rendered ({error}), expected jinja2 to be installed") from None
        except Exception as error:  # whatever a template raises, the messages are what it could not render
            raise InputError(
                f"{self.directory}: the chat template refuses the messages ({error}), expected role and content of each turn"
            ) from error

    def decode(self, ids: list[int]) -> str:
        return self.backend.decode(ids, skip_special_tokens=True)

    def stream(self, stops: Sequence[str] = (), after: int = 0) -> "Until":
        return Until(Detokenizer(self), tuple(stops), after)


class Detokenizer:
    """Decodes ids as they come. The pieces join to exactly `decode` of all ids; none ends inside a character."""

    def __init__(self, text: Text):
        self.text = text
        self.decoder = DecodeStream(skip_special_tokens=True)
        self.ids: list[int] = []
        self.settled = 0  # characters

    def push(self, ids: list[int]) -> str:
        """The text that is settled by these further ids."""
        self.ids += ids
        pieces = [self.decoder.step(self.text.backend, token) for token in ids]
        piece = "".join(piece for piece in pieces if piece)
        self.settled += len(piece)
        return piece

    def finish(self) -> str:
        """What is left at the end: an unfinished character becomes one U+FFFD."""
        return self.text.decode(self.ids)[self.settled :]


class Until:
    """Lets a detokenizer's text through up to the first stop text, and holds back what may still become one.

    Stop texts are looked for in what comes after `after` tokens.
    """

    def __init__(self, detokenizer: Detokenizer, stops: tuple[str, ...], after: int = 0):
        self.detokenizer, self.stops, self.after = detokenizer, stops, after
        self.shown, self.held = "", ""

    def push(self, ids: list[int]) -> tuple[str, int | None]:
        """-> (text to show, how many of the ids it took to complete a stop text, None if none is complete)."""
        if not self.stops:
            return self._show(self.detokenizer.push(ids)), None
        early, ids = ids[: self.after], ids[self.after :]
        self.after -= len(early)
        before = self._show(self.detokenizer.push(early))
        piece, used = self._search(ids)
        return before + piece, None if used is None else len(early) + used

    def _search(self, ids: list[int]) -> tuple[str, int | None]:
        for count, token in enumerate(ids, 1):
            self.held += self.detokenizer.push([token])
            if (at := self._first_stop()) is not None:
                piece, self.held = self.held[:at], ""
                return self._show(piece), count
        hold = max((n for stop in self.stops for n in range(len(stop)) if self.held.endswith(stop[:n])), default=0)
        piece, self.held = self.held[: len(self.held) - hold], self.held[len(self.held) - hold :]
        return self._show(piece), None

    def finish(self) -> str:
        """What is left where no stop text came: it was not going to be one."""
        piece, self.held = self.held + self.detokenizer.finish(), ""
        return self._show(piece)

    def _first_stop(self) -> int | None:
        return min((at for stop in self.stops if (at := self.held.find(stop)) >= 0), default=None)

    def _show(self, piece: str) -> str:
        self.shown += piece
        return piece


def stop_ids(directory: Path, text: Text | None) -> tuple[int, ...]:
    """The ids that end an answer: those of `generation_config.json` if it lists any, else of `config.json`, else the tokenizer's."""
    for name in ("generation_config.json", "config.json"):
        path = directory / name
        if not path.exists():
            continue
        fields = Fields(read_json(path), str(path))
        listed = fields.get("eos_token_id", None)
        if listed is None:
            continue
        ids = listed if isinstance(listed, list) else [listed]
        if not all(type(token) is int and 0 <= token <= LARGEST for token in ids):
            raise fields.refuse("eos_token_id", listed, "a token id or a list of them")
        if ids:
            return tuple(dict.fromkeys(ids))
    return () if text is None or text.tokenizer.eos_token_id is None else (text.tokenizer.eos_token_id,)
