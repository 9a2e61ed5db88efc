"""A Figure as a small inline SVG whose ink and font are the page's own. Knows nothing of what is drawn.

Pure black is ink: it becomes currentColor and so follows the light and dark theme. A color that must stay
dark in both is not pure black (#111111). Text stays text and is set in the font of the page.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Any, Literal

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, Transform
from matplotlib.typing import ColorType

from sgdrace._arguments import shown
from sgdrace.figures.picture import Picture

FONT = 13.0  # size of all text that does not say otherwise, in units of the figure
MISS = 0.3  # units by which a simplified line may miss its points
CAPITAL = 0.72  # height of a capital letter, in em

# What a page needs. A figure is 360 units wide, so that on a phone a unit is a pixel. Where there is more
# room it grows, and its text grows less: what does not collide on the phone cannot collide anywhere. A
# container is asked for its width, not the window, because a notebook's output is narrower than the window.
STYLE = """\
.sgdrace {
  container-type: inline-size;
  display: flex;
  flex-wrap: wrap;
  gap: 4px 12px;
  align-items: flex-start;
  justify-content: center;
  width: 100%;
  margin: 0.5rem 0;
  color: var(--pst-color-text-base, var(--jp-content-font-color1, inherit));
}
.sgdrace > svg { display: block; flex: 1 1 310px; min-width: 0; max-width: 600px; height: auto; }
@container (min-width: 440px) { .sgdrace > svg { font-size: 11px; } }
@container (min-width: 520px) { .sgdrace > svg { font-size: 9px; } }
@container (min-width: 640px) {
  .sgdrace > svg:not(:only-child) { font-size: 13px; max-width: min(50% - 6px, 440px); }
}
.panels { container-type: inline-size; }
.panels > div {
  display: grid;
  grid-auto-flow: column;
  grid-auto-columns: 84%;
  gap: 10px;
  overflow-x: auto;
  scroll-snap-type: x mandatory;
}
.panels figure {
  box-sizing: border-box;
  margin: 0;
  padding: 8px 10px;
  border: 1px solid var(--pst-color-border, var(--jp-border-color2, currentColor));
  border-radius: 8px;
  scroll-snap-align: start;
}
.panels .sgdrace { margin: 0 0 6px; }
.panels .sgdrace > svg { font-size: 13px; }
.panels figure > figcaption {
  margin: 0;
  color: inherit;
  font: 14px/1.35 var(--pst-font-family-base, inherit);
  text-align: left;
}
@container (min-width: 620px) { .panels > div { grid-auto-columns: 1fr; } }
"""

_ANCHOR = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}
_SCRIPT = re.compile(r"([_^])\{(.*?)\}")


def to_svg(picture: Picture) -> str:
    """A picture as part of a page, with its text alternative.

    Several figures stand side by side where there is room, and below each other where not. The page needs
    `STYLE`.

    >>> figure = Figure(figsize=(5, 1))
    >>> _ = figure.text(0.5, 0.5, "nobody waits")
    >>> to_svg(Picture(figure, "Nobody waits."))[:59]
    '<div class="sgdrace" role="img" aria-label="Nobody waits.">'
    """
    if not isinstance(picture, Picture):
        raise TypeError(
            f"picture must be a Picture, which is figures with their words; got {shown(picture)}."
        )
    row = "".join(map(_svg, picture.figures))
    return f'<div class="sgdrace" role="img" aria-label="{escape(picture.text)}">{row}</div>'


def _svg(figure: Figure) -> str:
    renderer = _Renderer(figure)
    figure.draw(renderer)
    paths = "".join(f'<path{style} d="{"".join(data)}"/>' for style, data in renderer.paths)
    texts = "".join(f"<g{style}>{''.join(words)}</g>" for style, words in renderer.texts.items())
    return (
        f'<svg viewBox="0 0 {renderer.width:g} {renderer.height:g}" font-size="{FONT:g}" fill="none" '
        f'stroke="currentColor" stroke-linejoin="round">{paths}'
        f'<g fill="currentColor" stroke="none">{texts}</g></svg>'
    )


class _Renderer(RendererBase):
    """Collects path data and words; text always lies above lines."""

    def __init__(self, figure: Figure) -> None:
        super().__init__()
        self.width, self.height = figure.bbox.size
        self.down = Affine2D().scale(1, -1).translate(0, self.height)  # y from the top, as in SVG
        self.paths: list[tuple[str, list[str]]] = []  # style, data
        self.texts: dict[str, list[str]] = {}  # style: elements

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self.width, self.height

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: bool | Literal["TeX"]
    ) -> tuple[float, float, float]:
        """Rough on purpose: the page sets the text in its own font, so measuring ours would be in vain."""
        size = prop.get_size_in_points()
        return 0.55 * size * len(s), CAPITAL * size, 0.0

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: ColorType | None = None
    ) -> None:
        alpha = gc.get_alpha() if gc.get_forced_alpha() else None
        fill = _paint("fill", rgbFace, alpha, ink="currentColor")
        stroke = _paint("stroke", gc.get_rgb(), alpha) if gc.get_linewidth() else None
        if fill is None and stroke is None:
            return
        placed = transform + self.down
        window = self._window(gc)
        if fill is not None and window is not None:
            path, placed = _cut(path.transformed(placed), window), Affine2D()
        path.simplify_threshold = MISS
        edges = None if fill is not None or window is None else window.padded(1).extents
        clean = path.cleaned(placed, remove_nans=True, clip=edges, simplify=True)
        outline = ' stroke="none"' if stroke is None else stroke + _stroke_style(gc)
        self._add((fill or "") + outline, _path_data(clean))

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: ColorType | None = None,
    ) -> None:
        disc = marker_path.codes is not None and Path.CURVE4 in np.asarray(marker_path.codes)
        color = _paint("stroke", rgbFace, gc.get_alpha() if gc.get_forced_alpha() else None)
        if not disc or color is None:
            super().draw_markers(gc, marker_path, marker_trans, path, trans, rgbFace)
            return
        # A disc is a line of no length with round ends: 12 bytes where four curves take 250.
        size = marker_path.get_extents(marker_trans).width
        centers = _tenths((trans + self.down).transform(path.vertices))
        self._add(
            f'{color} stroke-width="{_short(size)}" stroke-linecap="round"',
            "".join(f"M{_number(x)}{_number(y, ' ')}h0" for x, y in centers),
        )

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: bool | Literal["TeX"] = False,
        mtext: Text | None = None,
    ) -> None:
        words = _words(s, bool(ismath))
        if angle or words is None:  # as outlines: misplaced in any font but the one it was measured in
            super().draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        style = ""
        if mtext is not None:  # the browser aligns, in the page's font
            across, up = mtext.get_transform().transform(mtext.get_unitless_position())
            x, style = across, _ANCHOR[str(mtext.get_horizontalalignment())]
            if mtext.get_verticalalignment() == "center_baseline":
                y, style = self.height - up, style + ' dominant-baseline="central"'
        style += _paint("fill", gc.get_rgb(), gc.get_alpha()) or ""
        if (size := prop.get_size_in_points()) != FONT:
            style += f' font-size="{_short(size / FONT)}em"'
        if prop.get_weight() in ("bold", 600, 700):
            style += ' font-weight="600"'
        place = f'x="{_number(round(10 * x))}" y="{_number(round(10 * y))}"'
        self.texts.setdefault(style, []).append(f"<text {place}>{words}</text>")

    def draw_image(self, gc: GraphicsContextBase, x: float, y: float, im: Any, transform: Any = None) -> None:
        raise ValueError("a figure of the book is lines and words; draw rectangles instead of an image.")

    def _window(self, gc: GraphicsContextBase) -> Bbox | None:
        """The clip rectangle, with y from the top."""
        box = gc.get_clip_rectangle()
        return (
            None
            if box is None
            else Bbox.from_extents(box.x0, self.height - box.y1, box.x1, self.height - box.y0)
        )

    def _add(self, style: str, data: str) -> None:
        if data and self.paths and self.paths[-1][0] == style:
            self.paths[-1][1].append(data)
        elif data:
            self.paths.append((style, [data]))


def _cut(path: Path, window: Bbox) -> Path:
    """A filled path without what lies outside a window; left as it is where nothing does."""
    box = path.get_extents()
    inside = np.all(box.min >= window.min) and np.all(box.max <= window.max)
    return path if inside else path.clip_to_bbox(window)


def _stroke_style(gc: GraphicsContextBase) -> str:
    style = f' stroke-width="{_short(gc.get_linewidth())}"'
    dashes: Any = gc.get_dashes()[1]
    if dashes is not None:
        style += f' stroke-dasharray="{" ".join(map(_short, dashes))}"'
    return style + (' stroke-linecap="round"' if gc.get_capstyle() == "round" else "")


def _paint(name: str, color: Any, alpha: float | None, ink: str = "") -> str | None:
    """An attribute such as ` fill="#f00"`, or None for a color that cannot be seen.

    Lines and text inherit their ink, so that they need not name it.
    """
    opacity = 0.0 if color is None else alpha if alpha is not None else color[3] if len(color) > 3 else 1.0
    if not opacity:
        return None
    paint = re.sub(r"#(.)\1(.)\2(.)\3$", r"#\1\2\3", to_hex(color[:3]))
    veil = f' {name}-opacity="{_short(opacity)}"' if opacity < 1 else ""
    paint = ink if paint == "#000" else paint
    return (f' {name}="{paint}"' if paint else "") + veil


def _short(value: float) -> str:
    """Three digits that count, and no zero before the point."""
    return f"{value:.3g}".removeprefix("0") or "0"


def _words(s: str, math: bool) -> str | None:
    """Text as SVG; from mathematics only letters with sub- and superscripts, such as $X_{K:P}$, else None."""
    if not math:
        return escape(s)
    plain = s.replace("$", "")
    if re.search(r"[\\{}_^]", _SCRIPT.sub("", plain)):
        return None
    return _SCRIPT.sub(_script, escape(plain))


def _script(match: re.Match[str]) -> str:
    """A raised or lowered piece; the empty piece after it takes the line back to where it was."""
    shift, sign = (0.25, "") if match[1] == "_" else (0.35, "-")
    back = f"{'-' if not sign else ''}{shift * 0.85:.2g}"
    small = f'<tspan dy="{sign}{shift:g}em" font-size=".85em">{match[2].replace("-", "−")}</tspan>'
    return f'{small}<tspan dy="{back}em">&#8203;</tspan>'


def _tenths(vertices: Any) -> list[list[int]]:
    tenths: list[list[int]] = np.rint(10 * np.asarray(vertices)).astype(int).tolist()
    return tenths


def _number(tenths: int, gap: str = "") -> str:
    """123 as 12.3 and -5 as -.5; `gap` parts it from the number before unless the sign does."""
    whole, digit = divmod(abs(tenths), 10)
    text = (str(whole) if whole or not digit else "") + (f".{digit}" if digit else "")
    return f"-{text}" if tenths < 0 else gap + text


def _path_data(path: Path) -> str:
    """Path data in tenths of a unit, relative, with h and v where they do."""
    data: list[str] = []
    x = y = 0
    start, last = (0, 0), ""
    for (u, v), code in zip(_tenths(path.vertices), np.asarray(path.codes).tolist(), strict=True):
        letter: str
        numbers: Iterable[int]
        if code == Path.MOVETO:
            letter, numbers, start = ("m", (u - x, v - y), (u, v)) if data else ("M", (u, v), (u, v))
        elif code == Path.CLOSEPOLY:
            letter, numbers, (u, v) = "z", (), start
        elif code == Path.STOP or (u, v) == (x, y):
            continue
        else:  # curves have become lines
            letter, numbers = _line_to(u - x, v - y)
        again = letter == last == "l"
        gaps = [" " if again or i else "" for i, _ in enumerate(numbers)]
        data.append(("" if again else letter) + "".join(map(_number, numbers, gaps)))
        x, y, last = u, v, letter
    return "".join(data)


def _line_to(dx: int, dy: int) -> tuple[str, tuple[int, ...]]:
    return ("h", (dx,)) if not dy else ("v", (dy,)) if not dx else ("l", (dx, dy))
