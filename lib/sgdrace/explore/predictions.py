"""Questions that a reader answers before playing. Knows widgets and words; nothing of pictures."""

from collections.abc import Mapping, Sequence
from html import escape

import ipywidgets as widgets

from sgdrace.explore.shown import Shown


def predict(question: str, options: Sequence[str], answer: str, why: str | Mapping[str, str]) -> Shown:
    """Ask before showing: the reader picks one of the options, and the page says whether and why.

    `why` is one explanation for all options, or a mapping from each option to its own.

    >>> predict("How long is a round?", ["1 s", "2.7 s"], answer="2.7 s", why="The average learner waits.")
    Predict: How long is a round? (1 s / 2.7 s)
    """
    _check_prediction(question, options, answer, why)
    feedback = [_feedback(option, answer, why) for option in options]
    wide = widgets.Layout(width="100%")
    # Questions are long, and a widget's own description is one line: so the question is a paragraph.
    asked = widgets.HTML(f"<p>{escape(question)}</p>", layout=wide)
    picked = widgets.RadioButtons(options=list(options), index=None, layout=widgets.Layout(width="auto"))
    said = widgets.Stack([widgets.HTML(text, layout=wide) for text in feedback], selected_index=None)
    said.add_class("predict-answer")
    widgets.jslink((picked, "index"), (said, "selected_index"))
    box = widgets.VBox([asked, picked, said], layout=wide)
    box.add_class("predict")
    text = f"Predict: {question} ({' / '.join(options)})"
    return Shown(text, _prediction_on_paper(question, options, feedback), box)


def _check_prediction(
    question: str, options: Sequence[str], answer: str, why: str | Mapping[str, str]
) -> None:
    if isinstance(options, str) or len(options) < 2 or len(set(options)) < len(options):
        raise ValueError(f"predict({question!r}) needs two or more different options; got {options!r}.")
    if answer not in options:
        raise ValueError(f"predict({question!r}) has the answer {answer!r}, which is none of {options!r}.")
    if not isinstance(why, str) and set(why) != set(options):
        raise ValueError(f"predict({question!r}) needs a reason for each of {options!r}; got {list(why)}.")


def _feedback(option: str, answer: str, why: str | Mapping[str, str]) -> str:
    right = option == answer
    verdict = f"Yes: {answer}." if right else f"No: {answer}."
    reason = why if isinstance(why, str) else why[option]
    kind = "right" if right else "wrong"
    return f'<p class="predict-{kind}"><strong>{escape(verdict)}</strong> {escape(reason)}</p>'


def _prediction_on_paper(question: str, options: Sequence[str], feedback: Sequence[str]) -> str:
    """Without scripts the reader unfolds what each option hears."""
    answers = "".join(
        f"<li>{escape(option)}<details><summary>Is it?</summary>{said}</details></li>"
        for option, said in zip(options, feedback, strict=True)
    )
    return f'<div class="predict"><p>{escape(question)}</p><ul>{answers}</ul></div>'
