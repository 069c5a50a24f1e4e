"""The results of a run, compared with those of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from processes import measurements

import hippocrene


@dataclass(frozen=True)
class Results:
    """The results for one model, from the files of both sides. Neither side has all of them.

    - `rows`: the rows that the client encrypted.
    - `classes`: their true classes.
    - `plain`, `plain_scores`: their classes and scores by scikit-learn.
    - `found`, `found_scores`: their classes and scores by the encrypted program, decrypted.
    - `margins`: the distances of the best from the second best scores, by scikit-learn.
    - `seconds`: the seconds of each step of both sides.
    - `sizes`: the sizes in bytes of the files that were sent.
    """

    name: str
    model: str
    program: hippocrene.Program
    rows: np.ndarray
    classes: np.ndarray
    plain: np.ndarray
    plain_scores: np.ndarray
    found: np.ndarray
    found_scores: np.ndarray
    margins: np.ndarray
    seconds: dict[str, float]
    sizes: dict[str, int]

    @classmethod
    def load(cls, folder: Path) -> Results:
        """Read the folder of one model."""
        truth, answer = np.load(folder / "truth.npz"), np.load(folder / "client" / "answer.npz")
        seconds, sizes = {}, {}
        for _, measured in measurements(folder):
            seconds.update(measured["seconds"])
            sizes.update(measured["bytes"])
        return cls(
            name=folder.name,
            model=str(truth["model"]),
            program=hippocrene.Program.load(folder / "server" / "model.program"),
            rows=np.load(folder / "client" / "rows.npy"),
            classes=truth["classes"],
            plain=truth["predicted"],
            plain_scores=truth["scores"],
            found=answer["classes"],
            found_scores=answer["scores"],
            margins=truth["margins"],
            seconds=seconds,
            sizes=sizes,
        )

    @property
    def agrees(self) -> np.ndarray:
        """True for each row that has scikit-learn's class."""
        return self.found == self.plain

    @property
    def is_close(self) -> np.ndarray:
        """True for each row whose class could be changed by errors within the error bound."""
        return self.margins <= 2 * (self.program.error_bound or 0.0)

    @property
    def is_right(self) -> bool:
        """True if all rows have scikit-learn's class, except for close ones."""
        return bool(np.all(self.agrees | self.is_close))

    def facts(self) -> dict[str, str]:
        """Return the results in words, by their names."""
        error = np.abs(self.found_scores - self.plain_scores).max()
        return {
            "model": self.model,
            "preset": self.program.preset,
            "accuracy, encrypted": f"{np.mean(self.found == self.classes):.4f}",
            "accuracy, scikit-learn": f"{np.mean(self.plain == self.classes):.4f}",
            "rows that agree": f"{self.agrees.sum()} of {len(self.rows)}",
            "rows too close to tell": f"{self.is_close.sum()} of {len(self.rows)}",
            "largest error of a score": f"{error:.1e}",
            "error bound": f"{self.program.error_bound:.1e}",
            "predicted time of the first run": f"{self.program.first_seconds:.3f} s",
            "time of the first run": f"{self.seconds['run the program']:.3f} s",
            "predicted time of later runs": f"{self.program.seconds:.3f} s",
            "time of the third run": f"{self.seconds['run it with cached weights']:.3f} s",
        }
