"""Writes the page of the command line, `command-line.md`, from the help texts of the command.

Run it after a change of a help text: ``python docs/reference/command_line.py``. It needs the package
hippocrene. A test compares the page with the help texts.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

PAGE = Path(__file__).with_name("command-line.md")
INTRODUCTION = """# Command line

The command `hippocrene` makes keys, encrypts and decrypts files, runs programs, and describes files
and programs. `pip install .` and `cargo install --path crates/cli` install the same command.
[Read CSV files](../how-to/csv.md) shows it in use. This page is made from the help texts, which
`hippocrene help COMMAND` prints.
"""


def help_text(*arguments: str) -> str:
    """Return the long help of the command, or of one of its subcommands."""
    words = [sys.executable, "-m", "hippocrene", *arguments, "--help"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603


def commands(text: str) -> list[str]:
    """Return the names of the subcommands that a help text lists."""
    listed = text.split("Commands:\n")[1].split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines()]
    return [name for name in names if name != "help"]


def escaped(words: str) -> str:
    """Return a text for the cell of a table, with its placeholders as code."""
    return re.sub(r"(?<!`)(<[^<> ]+>)(?!`)", r"`\1`", words).replace("|", "\\|")


def rows(section: str) -> list[str]:
    """Return the rows of the table of options or arguments in a section of a help text."""
    entries: list[tuple[str, list[str]]] = []
    for line in section.splitlines():
        start = re.match(r" {2,6}((?:-|<|\[)\S.*?|\w+)(?: {2,}(\S.*))?$", line)
        if start and not line.startswith(" " * 8):
            entries.append((start[1], [start[2]] if start[2] else []))
        elif line.strip() and entries:
            entries[-1][1].append(line.strip())
    return [f"| `{name}` | {escaped(sentence(lines))} |" for name, lines in entries]


def sentence(lines: list[str]) -> str:
    """Join the lines of a description. Possible values become a list within the line."""
    words = ""
    for line in lines:
        value = re.match(r"- (\S+): +(.*)", line)
        if value:
            words += f" `{value[1]}` ({value[2]})" + ","
        elif line == "Possible values:":
            words += f". {line}"
        else:
            words = f"{words.rstrip(',')} {line}"
    return words.strip().rstrip(",")


def wrapped(text: str) -> str:
    """Return paragraphs with lines of at most 100 columns."""
    return "\n\n".join(
        textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    )


def chapter(heading: str, text: str) -> str:
    """Return the part of the page about one command."""
    about, rest = re.split(r"\n*Usage: ", text, maxsplit=1)
    usage, *sections = rest.strip().split("\n\n")
    parts = [heading, wrapped(about.strip().removeprefix("hippocrene\n")), f"```text\n{usage}\n```"]
    body = "\n\n".join(sections)
    for title, section in re.findall(
        r"^(Arguments|Options|Commands):\n(.*?)(?=^\w|\Z)", body, re.MULTILINE | re.DOTALL
    ):
        name = title.lower().removesuffix("s")
        parts.append("\n".join([f"| {name} | meaning |", "|---|---|", *rows(section)]))
    ends = re.findall(r"^(?!Arguments|Options|Commands)[A-Z].*(?:\n.+)*", body, re.MULTILINE)
    parts += [wrapped(end) for end in ends]
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    """Return the whole page."""
    text = help_text()
    parts = [INTRODUCTION.strip(), chapter("## hippocrene", text)]
    parts += [chapter(f"## hippocrene {name}", help_text(name)) for name in commands(text)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
