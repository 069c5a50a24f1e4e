"""The report of the demo: a page with tables and pictures, without scripts or other files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from processes import size
from results import Results

import hippocrene

# The number of digits to draw.
DRAWN = 24
# The size of the plot of scores, in pixels.
WIDTH, HEIGHT = 560, 220
# The colours of the two classes in it, readable on a light and on a dark background.
COLOURS = ("#3d84c6", "#d2691e")
STYLE = """
:root { color-scheme: light dark }
body { font-family: system-ui, sans-serif; line-height: 1.5; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem }
table { border-collapse: collapse; font-size: .9rem }
caption { text-align: left; font-weight: bold; padding: .3rem .6rem }
th, td { padding: .2rem .6rem; border-top: 1px solid #8884; text-align: right }
th { font-weight: normal; opacity: .75 }
th:first-child, .plan :is(th, td):nth-child(-n + 3) { text-align: left }
.plan { overflow-x: auto }
.beside { display: flex; flex-wrap: wrap; gap: 1.2rem 2rem; margin: 1.2rem 0 }
figure { margin: 0; font-size: .9rem; text-align: center }
svg { fill: currentColor; overflow: visible }
.marked { color: #d2691e }
"""


def page(results: Sequence[Results]) -> str:
    """Return the page for the results of all models."""
    facts = [{**one.facts(), **_sizes(one)} for one in results]
    summary = _table(
        "Results",
        ["", *(one.name for one in results)],
        [[name, *(fact[name] for fact in facts)] for name in facts[0]],
    )
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Two models on encrypted rows</title>
<style>{STYLE}</style>
<h1>Two models on encrypted rows</h1>
<p>A client encrypted rows. A server computed the scores of its models for these rows, and could
read neither the rows nor the scores. The client decrypted the class of each row. This page compares
these classes with those of scikit-learn on the plain rows. It was made from the files of both
sides.</p>
{summary}
<p>A row is too close to tell if its best scores differ by at most twice the error bound. Errors of
the encrypted scores could then change its class. All times are those of one thread. The first run
also prepares keys and weights, which later runs use again.</p>
{"".join(_section(one) for one in results)}
</html>
"""


def _sizes(results: Results) -> dict[str, str]:
    """Return the sizes of the files that were sent, by their names."""
    return {f"size of {file}": size(count) for file, count in results.sizes.items()}


def _section(results: Results) -> str:
    """Return the plan, the confusion tables and the picture of one model."""
    confusions = [
        _confusion("Encrypted", results.classes, results.found),
        _confusion("scikit-learn", results.classes, results.plain),
    ]
    picture = {"patients": _scores, "digits": _digits}[results.name](results)
    return f"""
<h2>{escape(results.name.capitalize())}</h2>
<div class="plan">{_plan(results.program)}</div>
<div class="beside">{"".join(confusions)}</div>
{picture}"""


def _plan(program: hippocrene.Program) -> str:
    """Return a table of the steps of a program."""
    names = list(program.inputs)
    rows = []
    for step in program.steps:
        sources = ", ".join(names[value] for value in step.inputs)
        results = [f"%{len(names) + i}" for i in range(len(step.results))]
        names += results
        capacity = "" if step.capacity_bits is None else f"{step.capacity_bits:.0f} bits"
        name, result = f"{', '.join(results)} = {step.operation}", str(step.results[0])
        rows.append([name, sources, result, capacity, f"{step.seconds:.3f} s"])
    inputs = ", ".join(f"{name} = {spec}" for name, spec in program.inputs.items())
    header = ["step", "from", "result", "capacity", "predicted time"]
    return _table(f"Plan for {inputs}", header, rows)


def _confusion(title: str, classes: np.ndarray, found: np.ndarray) -> str:
    """Return a table of the numbers of rows by their true and their found classes."""
    labels = np.unique(classes)
    rows = []
    for label in labels:
        counts = [np.sum(found[classes == label] == one) for one in labels]
        rows.append([label, *(count or "" for count in counts)])
    return _table(title, ["true class", *labels], rows)


def _scores(results: Results) -> str:
    """Return a plot of one score for each row, in ascending order."""
    order = np.argsort(results.plain_scores)
    low, high = results.plain_scores.min(), results.plain_scores.max()

    def height(score: float) -> str:
        return f"{HEIGHT * (high - score) / (high - low):.1f}"

    classes = np.unique(results.classes)
    colours = dict(zip(classes, COLOURS, strict=True))
    marks = f'<path d="M0 {height(0.0)}H{WIDTH}" stroke="#888"/>'
    for place, row in enumerate(order):
        x, colour = f"{WIDTH * (place + 0.5) / len(order):.1f}", colours[results.classes[row]]
        plain, found = height(results.plain_scores[row]), height(results.found_scores[row])
        marks += (
            f'<circle cx="{x}" cy="{plain}" r="4" fill="none" stroke="{colour}"/>'
            f'<circle cx="{x}" cy="{found}" r="1.5" fill="{colour}"/>'
        )
    return (
        f"<p>The scores of all rows, from {low:.1f} to {high:.1f}. Circles are those of "
        "scikit-learn, and dots are those of the encrypted program. Rows above the line are "
        f'classified as <span class="marked">{escape(str(classes[1]))}</span>, and rows in this '
        f'colour belong to this class.</p><svg width="{WIDTH}" height="{HEIGHT}">{marks}</svg>'
    )


def _digits(results: Results) -> str:
    """Return drawings of the digits with the smallest margins."""
    hardest = np.argsort(results.margins)[:DRAWN]
    figures = "".join(
        _digit(results.rows[i], results.found[i], results.plain[i], results.classes[i])
        for i in hardest
    )
    return (
        f"<p>The {len(hardest)} digits with the smallest margins. Below each one are the class by "
        'the encrypted program, the class by scikit-learn, and <span class="marked">the true class'
        f'</span> if it is another.</p><div class="beside">{figures}</div>'
    )


def _digit(pixels: np.ndarray, found: object, plain: object, true: object) -> str:
    """Return a drawing of a digit of 8 x 8 pixels from 0 to 16, with its classes."""
    squares = "".join(
        f'<rect x="{i % 8}" y="{i // 8}" width="1" height="1" opacity="{value / 16:.2f}"/>'
        for i, value in enumerate(pixels)
        if value > 0
    )
    wrong = "" if found == plain == true else f' <b class="marked">{escape(str(true))}</b>'
    return (
        f'<figure><svg width="56" height="56" viewBox="0 0 8 8">{squares}</svg>'
        f"<figcaption>{escape(f'{found} | {plain}')}{wrong}</figcaption></figure>"
    )


def _table(title: str, header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a title. The first cell of each row names the row."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = ""
    for name, *cells in rows:
        data = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        body += f"<tr><th>{escape(str(name))}</th>{data}</tr>\n"
    return f"<table><caption>{escape(title)}</caption>\n<tr>{head}</tr>\n{body}</table>"
