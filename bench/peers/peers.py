"""Measures peers on this machine and prints JSON: those with Python wheels, and Lattigo.

Each wheel is installed into a virtual environment of its own under the given folder, for the first
Python on this machine that the wheel supports. The environments are made on first use. The program
in `lattigo` is built there by Go, which fetches Lattigo. If a step fails, the output states the
reason. This program uses only the standard library, so any Python >= 3.9 can run it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# The oldest version of Python that the measuring programs support.
MIN_PYTHON = (3, 9)

# For each peer: the program, the package that it imports, the requirement to install, and the
# versions of Python to try first. The openfhe wheel has a module for only one version of Python.
OPENFHE = ("openfhe", "openfhe==1.6.1.*", ("3.10", "3.12"))
PEERS = {
    "openfhe": ("measure_openfhe.py", *OPENFHE),
    "openfhe-bootstrap": ("measure_openfhe_bootstrap.py", *OPENFHE),
    "openfhe-integers": ("measure_openfhe_integers.py", *OPENFHE),
    "tenseal": ("measure_tenseal.py", "tenseal", "tenseal==0.3.*", ()),
}
# For each peer, the argument of the program in `lattigo`.
LATTIGO = {
    "lattigo-she": "she",
    "lattigo-bootstrap-16": "bootstrap-16",
    "lattigo-bootstrap-15": "bootstrap-15",
    "lattigo-key-switch": "key-switch",
    "lattigo-integers": "integers",
}


class StepError(Exception):
    """A failed step, with the reason."""


def run(what: str, command: list[str], timeout: int, folder: Path = HERE) -> str:
    """Runs a command on one thread and returns its output."""
    one = {"OMP_NUM_THREADS": "1", "GOMAXPROCS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    options = {"env": {**os.environ, **one}, "cwd": folder, "timeout": timeout, "text": True}
    try:
        done = subprocess.run(command, capture_output=True, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StepError(f"{what}: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise StepError(
            f"{what}: {lines[-1].strip() if lines else f'exit status {done.returncode}'}"
        )
    return done.stdout


def pythons(preferred: tuple[str, ...]) -> list[tuple[str, str]]:
    """Returns the Pythons >= 3.9 of this machine as version ("3.11") and path.

    The preferred versions come first.
    """
    names = [
        *(f"python{version}" for version in preferred),
        *(f"python3.{minor}" for minor in range(14, 8, -1)),
    ]
    candidates = [
        Path(sys.executable),
        *(Path(path) for name in names if (path := shutil.which(name))),
    ]
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += sorted(managed.glob("3.*/bin/python3"), reverse=True)
    found: dict[str, str] = {}
    for path in candidates:
        try:
            version = run(
                str(path),
                [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                30,
            ).strip()
        except StepError:
            continue  # a shim for a version that is not installed
        if tuple(map(int, version.split("."))) >= MIN_PYTHON:
            found.setdefault(version, str(path))
    order = [version for version in preferred if version in found]
    return [(version, found[version]) for version in order + [v for v in found if v not in order]]


def environment(folder: Path, package: str, requirement: str, version: str, python: str) -> str:
    """Returns the Python of a virtual environment in which `package` can be imported."""
    home = folder / f"{package}-{version}"
    inside = home / "bin" / "python"
    load = [str(inside), "-c", f"import {package}"]
    try:
        run("import it", load, 60)
    except StepError:
        # There is no environment, or an unfinished one. Without pip it cannot be completed.
        run("make a virtual environment", [python, "-m", "venv", "--clear", str(home)], 120)
        install = [
            str(inside),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            requirement,
        ]
        run("install it", install, 600)
        run("import it", load, 60)
    return str(inside)


def measure(folder: Path, peer: str) -> dict:
    """Returns the figures of `peer`, or `{"peer", "missing"}` with the reasons."""
    return (
        measure_lattigo(folder, LATTIGO[peer]) if peer in LATTIGO else measure_wheel(folder, peer)
    )


def measure_lattigo(folder: Path, what: str) -> dict:
    program = folder.resolve() / "lattigo"
    try:
        if not shutil.which("go"):
            raise StepError("Go is needed (https://go.dev)")
        run("build it", ["go", "build", "-o", str(program), "."], 600, HERE / "lattigo")
        return json.loads(run("run it", [str(program), what], 900))
    except (StepError, ValueError) as error:
        return {"peer": "Lattigo", "missing": str(error)}


def measure_wheel(folder: Path, peer: str) -> dict:
    program, package, requirement, preferred = PEERS[peer]
    reasons = []
    for version, python in pythons(preferred):
        try:
            inside = environment(folder, package, requirement, version, python)
        except StepError as error:
            reasons.append(f"Python {version}: {error}")
            continue
        try:
            return json.loads(run(program, [inside, str(HERE / program)], 900))
        except (StepError, ValueError) as error:
            reasons.append(f"Python {version}: {error}")
    return {"peer": f"{package} wheel", "missing": "; ".join(reasons) or "there is no Python"}


def main() -> None:
    known = [*PEERS, *LATTIGO]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--environments", type=Path, required=True, help="the folder of the virtual environments"
    )
    parser.add_argument(
        "peer", nargs="*", help=f"which of {', '.join(known)} to measure (default: all)"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.peer) - set(known)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    arguments.environments.mkdir(parents=True, exist_ok=True)
    json.dump(
        [measure(arguments.environments, peer) for peer in arguments.peer or known],
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
