"""Draws the pictures of the book as SVG files beside this script.

Run it after a change: ``python docs/pictures/draw.py``. It needs the package hippocrene, since the
picture of the capacity shows a simulated program.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

import hippocrene

INK, PAPER, GREY = "#1f2937", "#ffffff", "#9ca3af"
SECRET, PUBLIC, HIDDEN = "#fde2e1", "#dbeafe", "#fef3c7"
RED, BLUE = "#b91c1c", "#1d4ed8"


class Picture:
    """The elements of one SVG picture, in pixels from the upper left corner."""

    def __init__(self, width: int, height: int, title: str) -> None:
        """Start an empty picture. `title` describes it to readers who cannot see it."""
        self.size, self.title = (width, height), title
        self.elements: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = PAPER,
        *,
        dashed: bool = False,
        radius: int = 6,
    ) -> None:
        """Draw a rectangle with rounded corners."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.elements.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
            f'fill="{fill}" stroke="{INK}" stroke-width="1.2"{dash}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = 14,
        bold: bool = False,
        anchor: str = "middle",
        colour: str = INK,
    ) -> None:
        """Write one line of text, whose baseline is at `y`."""
        weight = ' font-weight="bold"' if bold else ""
        self.elements.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}"{weight}>{escape(words)}</text>'
        )

    def line(self, *points: tuple[float, float], colour: str = INK, width: float = 1.6) -> None:
        """Draw a line through the points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.elements.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = INK) -> None:
        """Draw a straight arrow."""
        self.elements.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" '
            f'stroke-width="1.8" marker-end="url(#head)"/>'
        )

    def svg(self) -> str:
        """Return the file."""
        width, height = self.size
        head = (
            '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker>'
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" '
                'font-family="Helvetica, Arial, DejaVu Sans, sans-serif">',
                f"<title>{escape(self.title)}</title>",
                f"<defs>{head}</defs>",
                f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
                *self.elements,
                "</svg>",
                "",
            ]
        )


def keys_and_roles() -> Picture:
    """Draw the possessions of the client and the server, and the data that travel between them."""
    picture = Picture(
        760,
        300,
        "The client keeps the secret key. It sends evaluation keys and encrypted arrays to the "
        "server, which computes and returns encrypted results.",
    )
    for x, name, owner in (
        (20, "Client", "owns the data"),
        (530, "Server", "cannot read the data"),
    ):
        picture.box(x, 20, 210, 260)
        picture.text(x + 105, 48, name, size=18, bold=True)
        picture.text(x + 105, 68, owner, size=13)
    picture.box(40, 84, 170, 40, SECRET)
    picture.text(125, 109, "secret key")
    picture.box(40, 140, 170, 40, SECRET)
    picture.text(125, 165, "values: 0.5, -1.0, 2.0")
    picture.box(40, 220, 170, 40, SECRET)
    picture.text(125, 245, "result: 1.75")
    picture.box(550, 84, 170, 40, PUBLIC)
    picture.text(635, 109, "evaluation keys")
    picture.box(550, 140, 170, 40, HIDDEN)
    picture.text(635, 165, "encrypted array")
    picture.box(550, 220, 170, 40, HIDDEN)
    picture.text(635, 245, "encrypted result")
    picture.arrow(635, 182, 635, 217)
    picture.text(645, 205, "x @ weights", size=13, anchor="start")
    for y, words in ((104, "evaluation keys, once"), (160, "encrypt, send")):
        picture.arrow(212, y, 547, y)
        picture.text(380, y - 8, words, size=13)
    picture.arrow(547, 240, 213, 240)
    picture.text(380, 232, "send, decrypt", size=13)
    return picture


def slots() -> Picture:
    """Draw the slots of a ciphertext with an array of two rows, and a rotation of it."""
    picture = Picture(
        760,
        250,
        "A ciphertext with eight slots holds an array of two rows and three columns. Each row "
        "occupies four slots, and its last slot is free. A rotation by one shifts all slots to "
        "the left.",
    )
    left, wide = 170, 66
    rows = [("a", "b", "c"), ("d", "e", "f")]
    packed = [cell for row in rows for cell in (*row, "0")]
    turned = packed[1:] + packed[:1]
    for y, name, cells in ((60, "x, shape (2, 3)", packed), (150, "x rotated by 1", turned)):
        picture.text(left - 14, y + 31, name, anchor="end")
        for k, cell in enumerate(cells):
            picture.box(left + k * wide, y, wide, 48, PAPER if cell == "0" else HIDDEN, radius=0)
            picture.text(left + (k + 0.5) * wide, y + 31, cell, size=17)
    for k in range(8):
        picture.text(left + (k + 0.5) * wide, 50, f"slot {k}", size=12, colour="#4b5563")
    for k in range(1, 8):
        picture.arrow(left + (k + 0.5) * wide, 110, left + (k - 0.5) * wide, 148, GREY)
    picture.text(380, 232, "One addition or product computes on all slots at once.", size=14)
    return picture


def noise() -> Picture:
    """Draw the bits of one coefficient: what each part of them is used for."""
    picture = Picture(
        760,
        220,
        "The bits of a number modulo Q from high to low: capacity that is free, the value before "
        "the binary point, the precise bits after it, and the noise.",
    )
    parts = [
        (300, "free: capacity", PAPER),
        (120, "value", HIDDEN),
        (190, "precise bits", HIDDEN),
        (110, "noise", SECRET),
    ]
    x = 20
    for width, name, fill in parts:
        picture.box(x, 70, width, 54, fill, radius=0)
        picture.text(x + width / 2, 103, name)
        x += width
    picture.text(20, 56, "highest bit of Q", size=12, anchor="start")
    picture.text(740, 56, "lowest bit", size=12, anchor="end")
    picture.line((440, 62), (440, 132), colour=RED, width=2.2)
    picture.text(440, 54, "binary point", size=12, colour=RED)
    picture.arrow(440, 148, 628, 148)
    picture.arrow(628, 148, 442, 148)
    picture.text(535, 168, "precision_bits", size=13)
    picture.arrow(318, 148, 22, 148)
    picture.arrow(22, 148, 318, 148)
    picture.text(170, 168, "capacity_bits", size=13)
    picture.text(
        380, 202, "Each product makes the number longer, and scaling it down again", size=13
    )
    picture.text(380, 217, "removes low bits and makes Q smaller by as many.", size=13)
    return picture


def deep(x: hippocrene.NumberArray) -> hippocrene.NumberArray:
    """Square and scale forty times, the program whose capacity is drawn."""
    for _ in range(40):
        x = 0.5 * x**2 - 0.5
    return x


def capacity() -> Picture:
    """Draw the capacity of each result of a simulated program with bootstraps."""
    program = hippocrene.simulate(deep, np.linspace(-1, 1, 1000), preset="n16s", bootstrapping=True)
    bits = [capacity for _, capacity in program.capacities]
    picture = Picture(
        760,
        320,
        "The capacity of the results of a program, in bits. It falls with every product, and each "
        "bootstrap raises it again.",
    )
    left, right, top, bottom = 70, 740, 30, 270
    highest = 1200
    for tick in range(0, highest + 1, 200):
        y = bottom - tick / highest * (bottom - top)
        picture.line((left, y), (right, y), colour="#e5e7eb", width=1)
        picture.text(left - 8, y + 4, str(tick), size=12, anchor="end")
    points = [
        (
            left + k / (len(bits) - 1) * (right - left),
            bottom - value / highest * (bottom - top),
        )
        for k, value in enumerate(bits)
    ]
    picture.line(*points, colour=BLUE, width=2.2)
    rises = [k for k in range(1, len(bits)) if bits[k] > bits[k - 1] + 50]
    for k in rises:
        picture.text(points[k][0], points[k][1] - 8, "bootstrap", size=12, colour=RED)
    picture.line((left, top), (left, bottom), (right, bottom))
    picture.text(left, 18, "capacity, bits", size=12, anchor="start")
    picture.text(
        (left + right) / 2, 295, "operations of 40 steps x = 0.5 x² - 0.5 on n16s", size=13
    )
    return picture


def bootstrapping() -> Picture:
    """Draw the steps of a bootstrap."""
    picture = Picture(
        760,
        220,
        "The steps of a bootstrap: lower the modulus and move slots to coefficients, raise the "
        "modulus, move coefficients to slots, reduce modulo q0. Capacity is low before and high "
        "after.",
    )
    steps = [
        ("slots to", "coefficients"),
        ("raise", "the modulus"),
        ("coefficients", "to slots"),
        ("remove the", "multiples of q0"),
    ]
    for k, (first, second) in enumerate(steps):
        x = 112 + k * 138
        picture.box(x, 60, 122, 60, PUBLIC)
        picture.text(x + 61, 86, first)
        picture.text(x + 61, 105, second)
        if k:
            picture.arrow(x - 15, 90, x - 2, 90)
    picture.arrow(70, 90, 110, 90)
    picture.arrow(648, 90, 690, 90)
    picture.text(36, 86, "little", size=13)
    picture.text(36, 103, "capacity", size=13)
    picture.text(724, 86, "much", size=13)
    picture.text(724, 103, "capacity", size=13)
    picture.text(
        380, 160, "The server uses bootstrapping keys only. Nothing is decrypted.", size=14
    )
    picture.text(
        380, 182, "The values stay the same, up to the precision of the bootstrap.", size=14
    )
    return picture


PICTURES = {
    "keys-and-roles": keys_and_roles,
    "slots": slots,
    "noise": noise,
    "capacity": capacity,
    "bootstrapping": bootstrapping,
}


def main() -> None:
    """Write every picture."""
    for name, draw in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
