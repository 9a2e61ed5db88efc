"""A picture and the words that say what it shows, made by one call. Knows figures and text; draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from sgdrace._arguments import shown


@dataclass(frozen=True, init=False, eq=False)
class Picture:
    """One figure, or several that stand side by side, with their text alternative.

    >>> left, right = Picture(Figure(), "A rises."), Picture(Figure(), "B falls.")
    >>> left + right
    Picture(2 figures: A rises. B falls.)
    >>> left.adding("It ends at 3.").text
    'A rises. It ends at 3.'
    >>> left.saying("A climbs to 3.").text
    'A climbs to 3.'
    """

    figures: tuple[Figure, ...]
    text: str

    def __init__(self, figures: Figure | Sequence[Figure], text: str) -> None:
        row = (figures,) if isinstance(figures, Figure) else figures
        if not isinstance(row, Sequence) or not row or not all(isinstance(one, Figure) for one in row):
            raise TypeError(f"figures must be a Figure or a non-empty list of them; got {shown(figures)}.")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"text must say in words what the picture shows; got {shown(text)}.")
        object.__setattr__(self, "figures", tuple(row))
        object.__setattr__(self, "text", text)

    def __repr__(self) -> str:
        return f"Picture({len(self.figures)} figure{'s' * (len(self.figures) > 1)}: {self.text})"

    def __add__(self, other: "Picture") -> "Picture":
        """Both side by side."""
        if not isinstance(other, Picture):
            return NotImplemented
        return Picture((*self.figures, *other.figures), f"{self.text} {other.text}")

    def adding(self, words: str) -> "Picture":
        """The same picture, of which there is more to say."""
        return Picture(self.figures, f"{self.text} {words}")

    def saying(self, words: str) -> "Picture":
        """The same picture in other words."""
        return Picture(self.figures, words)
