from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import hippocrene
from hippocrene import Server, simulate
from hippocrene.html_tables import Bar, capacity_cell, table
from hippocrene.units import size_text, time_text

X = np.linspace(-1, 1, 40).reshape(4, 10)
ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td", "div"}


class Reader(HTMLParser):
    """Collects captions, rows of texts and widths of bars, and checks that the HTML is well formed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.captions, self.rows, self.widths = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, "every element is closed"

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "scope"}
        style = dict(attrs).get("style", "")
        assert "url(" not in style
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "div" and (width := re.match(r"width:([\d.]+)%", style)):
            self.widths.append(float(width[1]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "caption" in self.open:
            self.captions.append(data)
        else:
            self.rows[-1][-1] += data

    @property
    def facts(self):
        return {row[0]: row[1] for row in self.rows if len(row) == 2}


def read(shown):
    return Reader(shown._repr_html_())


def left_of(array, preset):
    full = next(one.usable_bits for one in hippocrene.presets() if one.name == preset)
    left = array.capacity_bits if array.budget_bits is None else array.budget_bits
    return f"{left:.1f} bits left (the preset has {full:.0f})", pytest.approx(
        100 * left / full, abs=0.06
    )


def test_an_array_of_numbers_shows_its_properties(client, secret):
    x = secret(X, interval=(-1, 3))
    for array in (x, x * x, client.encrypt(X)):
        shown = read(array)
        text, width = left_of(array, "n14")
        low, high = array.interval
        assert shown.captions == ["NumberArray"]
        assert shown.facts.pop("memory")
        assert {**shown.facts, "memory": None} == {
            "holds": "real numbers",
            "shape": "(4, 10)",
            "preset": "n14",
            "interval": f"[{low:g}, {high:g}]",
            "precision": f"{array.precision_bits:.1f} bits after the binary point (32 requested)",
            "capacity": text,
            "memory": None,
            "fingerprint": client.fingerprint,
        }
        assert shown.widths == [width]
    assert read(x * 1j).facts["holds"] == "complex numbers"


def test_the_memory_is_that_of_all_residues(client, secret):
    x = client.encrypt(X)
    memory = hippocrene.inspect(x.to_bytes())["array"]["memory"]
    assert read(x).facts["memory"] == size_text(memory)
    # Bytes that were read show the same as the array.
    again = hippocrene.EncryptedArray.from_bytes(x.to_bytes())
    assert again._repr_html_() == x._repr_html_()
    square = secret(X) ** 4
    memory = hippocrene.inspect(square.to_bytes())["array"]["memory"]
    assert read(square).facts["memory"] == size_text(memory)


def test_an_unknown_precision_is_shown_as_unknown(secret, monkeypatch):
    x = secret(X)
    monkeypatch.setattr(type(x), "precision_bits", float("nan"))
    assert read(x).facts["precision"] == "unknown (32 requested)"


def test_a_lazy_view_stays_lazy(secret):
    view = secret(X)[[3, 0, 1]]
    assert view._view is not None
    shown = read(view)
    assert view._view is not None
    assert view._view._moved is None
    assert shown.facts["shape"] == "(3, 10)"
    assert shown.facts["preset"] == "n14"
    assert "not moved yet" in shown.facts["lazy view"]
    text, width = left_of(view, "n14")
    assert (shown.facts["capacity"], shown.widths) == (text, [width])
    assert "lazy view" not in read(view.compute()).facts


def test_an_array_of_integers_shows_its_budget():
    client = hippocrene.Client.generate("n13", scheme="bgv")
    x = client.encrypt([1, 2, 3], interval=(0, 9))
    shown = read(x)
    text, width = left_of(x, "n13")
    assert shown.captions == ["IntegerArray"]
    assert shown.facts["holds"] == "integers modulo 65537"
    assert shown.facts["interval"] == "[0, 9]"
    assert (shown.facts["noise budget"], shown.widths) == (text, [width])
    assert "precision" not in shown.facts
    owner = read(client).facts
    assert owner["scheme"] == "bgv, integers modulo 65537"
    assert "precision" not in owner
    assert read(client.public_key()).facts["encrypts"] == "integers modulo 65537"


def test_arrays_of_bits_show_their_error():
    client = hippocrene.Client.generate("bits14")
    bits = client.encrypt(np.array([True, False]))
    shown = read(bits)
    assert shown.captions == ["BitArray"]
    assert shown.facts["holds"] == "bits"
    assert shown.facts["preset"] == "bits14"
    assert shown.facts["bit error"].startswith(f"{bits.bit_error:.3g} ")
    assert shown.widths == []
    owner = hippocrene.gates.GateClient.generate()
    single = read(owner.encrypt([True, False, True])).facts
    assert single["holds"] == "single bits"
    assert single["shape"] == "(3,)"
    assert "preset" not in single
    assert read(owner).facts == {
        "fingerprint": owner.fingerprint,
        "secret": "the secret key, which must stay with its owner",
    }


def test_keys_show_what_they_can_do(client):
    keys = client.evaluation_keys([1, 5], conjugation=True)
    expected = {
        "preset": "n14 (ring degree 16384)",
        "scheme": "ckks",
        "rotations": "2 with keys of their own",
        "conjugation": "yes",
        "bootstrapping": "no",
        "tables": "no",
        "gates of bits": "no",
        "fingerprint": client.fingerprint,
    }
    free = "none, so that it can be given to others"
    assert read(keys).facts == {**expected, "secret": free}
    server = read(Server(keys)).facts
    assert server.pop("memory").endswith("MB, without arrays")
    assert server == expected
    assert read(client.public_key()).facts == {
        "encrypts": "numbers",
        "fingerprint": client.fingerprint,
        "secret": free,
    }
    second = client.second_client(100)
    assert read(client.transfer_key(second)).facts == {
        "fingerprint": client.fingerprint,
        "second": second.fingerprint,
        "secret": free,
    }
    # The parameters of a second client have no name, so that the whole modulus is unknown.
    assert read(second).facts["preset"] == "ring degree 16384"
    assert read(second.encrypt(X)).facts["capacity"] == (
        f"{second.encrypt(X).capacity_bits:.1f} bits left"
    )


def test_a_client_shows_no_secret(client):
    shown = read(client)
    assert shown.captions == ["Client"]
    assert shown.facts == {
        "preset": "n14 (ring degree 16384)",
        "scheme": "ckks",
        "slots": "8192 in each ciphertext",
        "precision": "32 bits requested by default",
        "fingerprint": client.fingerprint,
        "secret": "the secret key, which must stay with its owner",
    }
    # Two secret keys differ in nothing that is shown, except for the public fingerprint.
    other = hippocrene.Client.generate("n14")
    html = client._repr_html_().replace(client.fingerprint, "")
    assert html == other._repr_html_().replace(other.fingerprint, "")
    secret = client.to_bytes()
    for start in range(0, len(secret) - 8, 8):
        assert secret[start : start + 8].hex() not in html


def test_a_simulation_shows_its_figures_and_its_operations():
    def program(x):
        return (x @ np.ones((10, 3))) ** 2 + np.roll(x, 1).sum()

    simulation = simulate(program, X)
    shown = read(simulation)
    assert shown.captions == ["Simulation", "Operations"]
    assert shown.facts["parameters"] == "n14, ckks at a precision of 32 bits"
    assert shown.facts["time"] == f"{time_text(simulation.seconds)} on one thread, as predicted"
    assert shown.facts["memory"] == f"{size_text(simulation.peak_memory)} at most"
    assert size_text(simulation.key_bytes) in shown.facts["keys"]
    assert "shape (4, 3)" in shown.facts["result"]
    assert f"{simulation.precision_bits:.1f} bits of precision" in shown.facts["result"]
    assert shown.facts["capacity"].startswith(f"{simulation.capacity_bits:.1f} bits left")
    heading, *rows = [row for row in shown.rows if len(row) == 4]
    assert heading == ["operation", "count", "time", "share of the time"]
    assert len(rows) == min(9, len(simulation.operations))
    for row, (name, (count, seconds)) in zip(rows[:8], simulation.operations.items(), strict=False):
        share = seconds / simulation.seconds
        assert row == [name, str(count), time_text(seconds), f"{share:.0%}"]
    assert sum(shown.widths[1:]) == pytest.approx(100, abs=1)


def test_a_simulation_of_integers_shows_its_budget():
    simulation = simulate(lambda x: x * x, np.arange(4), preset="n13", scheme="bgv")
    facts = read(simulation).facts
    assert facts["parameters"] == "n13, bgv modulo 65537"
    assert facts["budget"].startswith(f"{simulation.budget_bits:.1f} bits left")
    assert "capacity" not in facts


def test_a_simulation_without_operations_has_one_table():
    shown = read(simulate(lambda _: 3, X, preset="n13"))
    assert shown.captions == ["Simulation"]
    assert shown.facts["result"] == "int"


def test_simulations_and_files_of_clusters_are_shown(clusters):
    simulation = hippocrene.clustering.EncryptedKMeans(2, max_iter=1).simulate(
        [[0.0], [1.0], [5.0]]
    )
    shown = read(simulation)
    assert shown.captions == ["Simulation", "Operations"]
    assert shown.facts["keys"] == size_text(simulation.key_bytes)
    text = repr(simulation)
    assert text.startswith("Simulation\n")
    assert "array(" not in text
    assert size_text(simulation.key_bytes) in text
    assert read(clusters).facts == {
        "shape": "(4, 2)",
        "clusters": "2",
        "iterations": "0",
        "points": "included",
    }


def test_text_is_escaped():
    class Tricky:
        pass

    Tricky.__name__ = "<script>alert('&')</script>"
    simulation = simulate(lambda _: Tricky(), X, preset="n13")
    html = simulation._repr_html_()
    assert "<script" not in html
    assert read(simulation).facts["result"] == "<script>alert('&')</script>"
    html = table("<b>", [("<i>", "&"), ("bar", Bar("<u>", 0.5))], ("<s>", '"'))
    shown = Reader(html)
    assert shown.captions == ["<b>"]
    assert shown.rows == [["<s>", '"'], ["<i>", "&"], ["bar", "<u>"]]


def test_bars_stay_within_their_width():
    shown = Reader(table("bars", [("a", Bar("", -1)), ("b", Bar("", 0.25)), ("c", Bar("", 2))]))
    assert shown.widths == [0, 25, 100]


def test_capacity_without_a_preset_has_no_bar():
    assert capacity_cell(None, "n14") == "unknown"
    assert capacity_cell(12.34, None) == "12.3 bits left"
    assert capacity_cell(12.34, "of ring degree 8192") == "12.3 bits left"


def test_sizes_and_times_have_readable_units():
    assert [size_text(n) for n in (7, 999, 999_999, 1_840_000, 2e9, 5e12)] == [
        "7 bytes",
        "999 bytes",
        "1 MB",
        "1.84 MB",
        "2 GB",
        "5 TB",
    ]
    assert [time_text(t) for t in (0.0123, 0.9999, 2.5, 999.9, 12345)] == [
        "12.3 ms",
        "1 s",
        "2.5 s",
        "1,000 s",
        "12,345 s",
    ]
