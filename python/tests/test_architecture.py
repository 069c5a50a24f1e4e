from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_every_crate_stands_above_the_crates_that_it_uses():
    picture = ElementTree.parse(ROOT / "docs/architecture.svg")
    names = picture.iter("{http://www.w3.org/2000/svg}text")
    heights = {text.text: int(text.get("y")) for text in names if text.get("class") == "name"}
    crates = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    assert crates
    assert crates | {"Python package", "Rust programs"} == heights.keys()
    for crate in crates:
        manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
        dependencies = manifest.split("[dependencies]")[-1].split("\n[")[0]
        for used in re.findall(r"^hippocrene-?(\w*)", dependencies, re.MULTILINE):
            assert heights[crate] < heights[used or "hippocrene"]
