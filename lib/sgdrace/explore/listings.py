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
    """Lines of code: set as Python on a page, plain where there is only text."""

    code: str

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def listing(function: Callable[..., Any], since: str | None = None) -> Listing:
    """The source of a function, or of its lines from the first that begins with `since`.

    Indented half as far as in the file, so that it fits a phone.

    >>> from sgdrace.protocol import VirtualClock
    >>> listing(VirtualClock.now, since="return")
    return self.clock
    """
    try:
        lines = inspect.getsource(function).splitlines()
    except (TypeError, OSError):
        raise TypeError(f"function must have a source that can be read; got {shown(function)}.") from None
    begin = 0
    if since is not None:
        found = [n for n, line in enumerate(lines) if line.strip().startswith(since)]
        if not found:
            raise ValueError(f"since must be how a line of {function.__name__} begins; got {since!r}.")
        begin = found[0]
    code = dedent("\n".join(lines[begin:]))
    return Listing(re.sub(r"^ +", lambda blank: blank[0][: len(blank[0]) // 2], code, flags=re.M))
