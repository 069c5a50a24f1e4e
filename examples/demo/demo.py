"""Two models on encrypted rows, by a client and a server that share only files."""

from __future__ import annotations

import sys
from pathlib import Path

from processes import exchange, fresh_folder, print_measured, run
from report import page
from results import Results

HERE = Path(__file__).parent
MODELS = ("patients", "digits")


def play(folder: Path) -> Results:
    """Run the processes of both sides for one model, and compare with scikit-learn."""
    print(f"{folder.name}:", flush=True)
    exchange(HERE, folder)
    results = Results.load(folder)
    print()
    for name, value in results.facts().items():
        print(f"{name:<26}{value}")
    print_measured(folder)
    print()
    return results


def main() -> None:
    """Train and compile both models, run them, and write a page with the results."""
    # `make demo` lets two other examples write to the same folder.
    folder = fresh_folder({*MODELS, "report.html", "tree", "clusters"})
    run(HERE / "train.py", folder, *sys.argv[2:])
    results = [play(folder / name) for name in MODELS]
    (folder / "report.html").write_text(page(results), encoding="utf-8")
    print(f"The results as a page: {folder / 'report.html'}")
    if not all(one.is_right for one in results):
        sys.exit("an encrypted model disagrees with the plaintext one")


if __name__ == "__main__":
    main()
