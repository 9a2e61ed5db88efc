"""Films the race of the first page: a loop for those who share it, and a still picture of a decisive moment.

Run it with `make loop`; it writes book/_static/race.webp and race.png. Chromium draws each moment of the race
that is asked for, so that no clock decides what is seen.
"""

from io import BytesIO
from pathlib import Path

from benchmarks.frames import race_in_chromium
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page

FOLDER = Path(__file__).parent / "_static"
TITLE = "Slow and stale gradients can win the race"
WINDOW, MARGIN, SHARP = {"width": 800, "height": 420}, 40, 1.5  # the still picture has 1200 x 630 pixels
RATE, MOVES, RESTS, FADES = 10, 6.5, 2.5, 0.5  # frames a second; seconds
DECISIVE = 12.0  # when the pairs change places
RACE = "document.querySelector('[data-race]').race"
TITLE_STYLE = """body { margin: 40px; font-family: system-ui, sans-serif }
h1 { margin: -10px 0 6px; font-size: 27px; line-height: 1.1; color: #1f2530; text-align: center }"""
BARE_STYLE = """
button, select, .stories, .lesson, .bets, .legend, .settings, .scroll { display: none !important }
.race { padding: 0 !important; border: 0 } .gate canvas { height: 70px !important }
.stage { gap: 0 20px } .story { font-size: 14px } .chart { min-height: 200px !important }"""
BARE = """([title, above, inside]) => {
  document.body.insertAdjacentHTML('afterbegin', `<style>${above}</style><h1>${title}</h1>`);
  document.querySelector('[data-race]').shadowRoot.querySelector('.race')
    .insertAdjacentHTML('afterbegin', `<style>${inside}</style>`);
}"""


def moments(until: float) -> list[float]:
    """Slowly at first, when each mini-batch can be followed; the rest of the race in a hurry."""
    steps = round(RATE * MOVES)
    return [until * (0.07 * n + 0.93 * n**3 / steps**2) / steps for n in range(steps + 1)]


def seen(page: Page, moment: float) -> Image.Image:
    """The page at a moment of the race."""
    page.evaluate(f"{RACE}.seek({moment})")
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def film(page: Page) -> list[Image.Image]:
    """The race without the margins of the page, and a way back from its end to its start."""
    edge = MARGIN - 12
    box = (edge, edge - 8, WINDOW["width"] - edge, WINDOW["height"] - edge + 14)
    until = page.evaluate(f"({RACE}.seek(1e9), {RACE}.t)")
    frames = [seen(page, moment).crop(box) for moment in moments(until)]
    steps = round(RATE * FADES)
    return frames + [Image.blend(frames[-1], frames[0], n / steps) for n in range(1, steps)]


def main() -> None:
    """Film, join, save."""
    with race_in_chromium() as (browser, address):
        sharp, plain = (browser.new_page(viewport=WINDOW, device_scale_factor=n) for n in (SHARP, 1))
        for page in (sharp, plain):
            page.goto(address)
            page.evaluate(BARE, [TITLE, TITLE_STYLE, BARE_STYLE])
        still, words = seen(sharp, DECISIVE), PngInfo()
        sharp.wait_for_timeout(500)  # what a listener is told comes when the race rests
        words.add_text("Description", sharp.locator("[data-is=status]").inner_text())
        still.quantize(256, dither=Image.Dither.NONE).save(FOLDER / "race.png", pnginfo=words, optimize=True)
        frames = film(plain)
    times = [1000 / RATE] * len(frames)
    times[round(RATE * MOVES)] = 1000 * RESTS
    frames[0].save(
        FOLDER / "race.webp",
        save_all=True,
        append_images=frames[1:],
        duration=[round(time) for time in times],
        loop=0,
        quality=45,
        method=6,
    )


if __name__ == "__main__":
    main()
