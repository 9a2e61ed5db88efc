"""Code of the package as a page shows it.  Knows source text, nothing of what it does."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from sgdrace._arguments import shown


@dataclass(frozen=True, repr=False)
class Listing:
    """Lines of code: set in colors on a page, plain where there is only text."""

    code: str
    language: str = "python"

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```{self.language}\n{self.code}\n```"


def listing(
    function: Callable[..., Any] | str,
    since: str | None = None,
    until: str | None = None,
    language: str = "python",
) -> Listing:
    r"""The source of a function, from the first line that begins with `since` to the next with `until`.

    Source text of another `language` can be given as it is. Indented half as far as in the file, so that it
    fits a phone.

    >>> from sgdrace.protocol import VirtualClock
    >>> listing(VirtualClock.now, since="return")
    return self.clock
    >>> listing("int f() {\n    return 1;\n}", since="return", until="return", language="cuda")
    return 1;
    """
    if isinstance(function, str):
        name, lines = f"the {language} source", function.splitlines()
    else:
        try:
            name, lines = function.__name__, inspect.getsource(function).splitlines()
        except (AttributeError, TypeError, OSError):
            raise TypeError(f"function must have a source that can be read; got {shown(function)}.") from None
    begin = 0 if since is None else _first("since", since, lines, name)
    end = len(lines) if until is None else begin + _first("until", until, lines[begin:], name) + 1
    code = dedent("\n".join(lines[begin:end]))
    return Listing(re.sub(r"^ +", lambda blank: blank[0][: len(blank[0]) // 2], code, flags=re.M), language)


def _first(argument: str, start: str, lines: list[str], name: str) -> int:
    """The number of the first line that begins so."""
    for number, line in enumerate(lines):
        if line.strip().startswith(start):
            return number
    raise ValueError(f"{argument} must be how a line of {name} begins; got {start!r}.")
