"""What goes wrong without being a bug."""


class InputError(ValueError):
    """Bad input. The message is one sentence that names the file or option, the key, what was found and what was expected."""

    def __init__(self, message: str):
        super().__init__(" ".join(message.splitlines()))  # a name in a broken file may hold a line end
