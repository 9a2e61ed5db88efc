"""How a page introduces itself: the card under a link that somebody shares, and the book's title on a phone.

A card has the page's title, its question and a picture that is drawn while building; that of the first page
is the race, as `make loop` took it. Those who show cards want full addresses. The environment variable
BOOK_ADDRESS says where the site will be, such as https://someone.github.io/sgdrace/; without it the addresses
are relative.
"""

import os
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from PIL import Image
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from sgdrace import VARIANTS, ShiftedExponential, simulate
from sgdrace.figures import VARIANT, WORK
from sgdrace.jobs import FATES, Jobs

VARIABLE = "BOOK_ADDRESS"
FOLDER = "_static/sharing"
MOST_LETTERS = 200  # of a description; what shows it cuts off the rest
WIDTH, HEIGHT, MARGIN = 1200, 630, 64  # pixels
POINT = 0.72  # points to a pixel, 100 pixels to an inch
PAPER, DARK, GRAY = "#ffffff", "#111111", "#5a5a5a"
LEARNERS, K, END = 8, 4, 4.0  # of the races in the picture
RACE = "_static/race.png"  # which brings its own words
ALT = "{title}. Below, what eight learners do under " + ", ".join(VARIANTS[:-1]) + f" and {VARIANTS[-1]}."


def configure(app: Sphinx, config: Config) -> None:
    """Where the site will be, if anybody said it."""
    address = os.environ.get(VARIABLE, "").strip()
    if address and not re.match(r"https?://\w", address):
        raise ExtensionError(f"{VARIABLE} must be an address that begins with https://; got {address!r}.")
    if address:
        config.html_baseurl = address.rstrip("/") + "/"


def description(doctree: nodes.document) -> str:
    """The first paragraph of a page, or as many of its sentences as fit."""
    first = next((p for p in doctree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section)), None)
    return "" if first is None else shortened(" ".join(first.astext().split()))


def shortened(words: str, most: int = MOST_LETTERS) -> str:
    """Whole sentences where one fits, whole words otherwise.

    >>> shortened("Who waits? Nobody knows it.", 20), shortened("Nobody knows it.", 10)
    ('Who waits?', 'Nobody …')
    """
    if len(words) <= most:
        return words
    ends = [end.end() for end in re.finditer(r"[.?!](?= )", words) if end.end() <= most]
    return words[: ends[-1]] if ends else words[: most - 1].rsplit(" ", 1)[0] + " …"


def tags(app: Sphinx, page: str, words: str, from_page: str) -> str:
    """The elements that say what a page is, as they stand on `from_page`."""
    book, base = name_of_book(app), app.config.html_baseurl
    is_root = page == app.config.root_doc
    title = book if is_root else app.env.titles[page].astext()
    target = app.builder.get_target_uri(from_page)
    up = base or "../" * target.count("/")
    say = {
        "og:title": title,
        "og:site_name": book,
        "og:type": "website" if is_root else "article",
        "og:description": words,
        "og:image": f"{up}{RACE if is_root else picture_of(page)}",
        "og:image:type": "image/png",
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
        "og:image:alt": f"{title}. {words_of_race()}" if is_root else ALT.format(title=title),
    }
    if base:
        say["og:url"] = base + app.builder.get_target_uri(page)
    plain = {"description": words, "author": app.config.author, "twitter:card": "summary_large_image"}
    named = [f'<meta name="{name}" content="{escape(value)}" />' for name, value in plain.items()]
    return "\n".join(
        [*named, *(f'<meta property="{name}" content="{escape(value)}" />' for name, value in say.items())]
    )


def picture_of(page: str) -> str:
    """Where the picture of a page is on the site, unless it is the first one."""
    return f"{FOLDER}/{page.replace('/', '-')}.png"


@cache
def words_of_race() -> str:
    """What the picture of the race shows."""
    with Image.open(Path(__file__).parents[1] / RACE) as picture:
        return str(picture.info["Description"])


def introduce(
    app: Sphinx, page: str, name: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Complete a page, and draw its picture."""
    if doctree is None or app.builder.name != "html":
        return
    words, book, root = description(doctree), name_of_book(app), app.config.root_doc
    home = app.builder.get_relative_uri(page, root) or "#"
    context["metatags"] = context.get("metatags", "") + "\n" + tags(app, page, words, page)
    context["body"] = f'<p class="book-title"><a href="{home}">{escape(book)}</a></p>\n{context["body"]}'
    if page == root:
        front(app, words)
    else:
        draw(Path(app.outdir) / picture_of(page), book, app.env.titles[page].astext(), words)


def name_of_book(app: Sphinx) -> str:
    """Its title, as it stands in _config.yml."""
    return str(app.config.html_title or app.config.project)


def front(app: Sphinx, words: str) -> None:
    """The address of the site itself, which leads to the first page, and has the same card."""
    first = app.builder.get_target_uri(app.config.root_doc)
    title, card = escape(name_of_book(app)), tags(app, app.config.root_doc, words, "index")
    (Path(app.outdir) / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n<title>{title}</title>\n'
        f'{card}\n<meta http-equiv="Refresh" content="0; url={first}" />\n</head>\n'
        f'<body><a href="{first}">{title}</a></body>\n</html>\n',
        encoding="utf-8",
    )


def draw(file: Path, book: str, title: str, words: str) -> None:
    """The picture: the book, the title and the question of a page, and one race waited for in four ways."""
    canvas = sheet()
    figure = canvas.figure
    figure.figimage(foot())
    y = float(MARGIN)
    y = write(figure, book, y, [24], 1, color=GRAY) + 14
    y = write(figure, title, y, [62, 54, 46], 2, weight="bold", color=DARK) + 16
    write(figure, words, y, [34, 30, 26, 22], 4, color=DARK)
    file.parent.mkdir(parents=True, exist_ok=True)
    canvas.print_png(file, metadata={"Software": None})


def write(figure: Figure, words: str, top: float, sizes: list[int], most: int, **look: str) -> float:
    """Write at the largest of these sizes (pixels) that needs at most so many lines; return where it ends."""
    for size in sizes:
        font = FontProperties(size=size * POINT, weight=look.get("weight", "normal"))
        lines = wrapped(figure, words, font)
        if len(lines) <= most:
            break
    for n, line in enumerate(lines):
        y = 1 - (top + size * (0.8 + 1.25 * n)) / HEIGHT
        figure.text(MARGIN / WIDTH, y, line, fontproperties=font, color=look["color"], parse_math=False)
    return top + size * 1.25 * len(lines)


def wrapped(figure: Figure, words: str, font: FontProperties) -> list[str]:
    """The words in lines that fit between the margins."""
    measure = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        fits = measure.get_text_width_height_descent(longer, font, ismath=False)[0] <= WIDTH - 2 * MARGIN
        lines[-1:] = [longer] if fits or not lines[-1] else [lines[-1], word]
    return lines


def sheet() -> FigureCanvasAgg:
    """White paper."""
    return FigureCanvasAgg(Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=PAPER))


@cache  # drawn once: it is the same in all pictures, and most of their work
def foot() -> Any:
    """The pixels of a picture that has no words yet: the same learners with the same luck, four times."""
    canvas, law = sheet(), ShiftedExponential(shift=0.5, rate=2.0)
    for place, variant in enumerate(VARIANTS):
        race = simulate(variant, P=LEARNERS, K=K, delay=law, updates=40, seed=18, common=True)
        _race(canvas.figure, race.jobs(), place)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def _race(figure: Figure, jobs: Jobs, place: int) -> None:
    """One of four small timelines at the foot of the picture."""
    apart, row = 28, 18
    width = (WIDTH - 2 * MARGIN - 3 * apart) / 4
    left, bottom, height = MARGIN + place * (width + apart), 52, LEARNERS * row
    axes = figure.add_axes((left / WIDTH, bottom / HEIGHT, width / WIDTH, height / HEIGHT))
    axes.set(xlim=(0, END), ylim=(LEARNERS, 0))
    axes.axis("off")
    axes.vlines(jobs.updates[jobs.updates <= END], 0, LEARNERS, color=DARK, linewidth=1, alpha=0.6)
    for fate in reversed(FATES):
        bars, shade = jobs.bars(0.0, END)[fate], WORK[fate]
        gap = 0.0 if shade.dash else 0.02  # parts work from the next, but the least of it is seen
        axes.hlines(
            bars.learner + 0.5,
            bars.start,
            (bars.end - gap).clip(min=bars.start + 0.01),
            color=shade.color,
            alpha=shade.alpha,
            linewidth=row * shade.share * POINT,
            linestyle=(0, (0.4, 0.4)) if shade.dash else "-",
        )
    stroke = VARIANT[jobs.variant]
    y = (bottom + height + 22) / HEIGHT
    line = figure.add_axes((left / WIDTH, y - 0.01, 34 / WIDTH, 0.02))
    line.axis("off")
    line.plot([0, 1], [0, 0], color=stroke.color, linewidth=4, linestyle=(0, stroke.dash and (1.6, 0.8)))
    figure.text((left + 46) / WIDTH, y, jobs.variant, size=23 * POINT, color=DARK, va="center_baseline")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", configure)
    app.connect("html-page-context", introduce)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
