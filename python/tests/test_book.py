"""The book in docs/ and the README: their programs run, their links lead somewhere, and what is made
from the code is up to date."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hippocrene import errors

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BOOK = sorted((ROOT / "docs").rglob("*.md"))
# Folders that are built, or hold other people's files.
BUILT = {".cache", ".git", ".venv", "demo-run", "dist", "node_modules", "site", "target"}


def files(*patterns: str) -> list[Path]:
    """Return the files of the repository with these names, except built ones."""
    found = []
    folders = [ROOT]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_dir() and path.name not in BUILT and not path.is_symlink():
                folders.append(path)
            elif path.is_file() and any(path.match(pattern) for pattern in patterns):
                found.append(path)
    return found


MARKDOWN = files("*.md")


def named(paths: list[Path]) -> list:
    """Return the parameters of a test for each file, named by its path."""
    return [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in paths]


def without_code(text: str) -> str:
    """Return Markdown without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def programs(page: Path) -> str:
    """Return the Python programs of a page, one after the other, at the lines of the page."""
    lines, inside, indent = [], False, 0
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = re.match(r"( *)```(\w*)", line)
        if fence:
            inside, indent = not inside and fence[2] == "python", len(fence[1])
            lines.append("")
        else:
            lines.append(line[indent:] if inside else "")
    return "\n".join(lines) + "\n"


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the book make them."""
    text = without_code(page.read_text(encoding="utf-8"))
    found = set(re.findall(r'<a id="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower())
        found.add(words.replace(" ", "-"))
    return found


def script(path: str) -> ModuleType:
    """Import a script of the book."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PAGES_WITH_PROGRAMS = [page for page in [README, *BOOK] if programs(page).strip()]


def test_the_readme_starts_with_the_two_commands():
    first = README.read_text(encoding="utf-8").split("```")[1]
    assert re.findall(r"^make \w+", first, re.MULTILINE) == ["make demo", "make test"]


@pytest.mark.filterwarnings("default::ResourceWarning")
@pytest.mark.parametrize("page", named(PAGES_WITH_PROGRAMS))
def test_the_programs_of_a_page_run(page):
    exec(compile(programs(page), str(page), "exec"), {"__name__": page.stem})


def test_there_are_programs():
    assert len(PAGES_WITH_PROGRAMS) >= 20


@pytest.mark.parametrize("page", named(MARKDOWN))
def test_links_lead_to_files_and_headings(page):
    text = without_code(page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"https?:|mailto:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", named(MARKDOWN))
def test_paths_of_the_repository_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"`((?:bench|crates|docs|examples|fuzz|python)/[\w./*-]+)`", text):
        assert any(ROOT.glob(path.rstrip("/"))), path


def test_code_names_pages_that_exist():
    for file in files("*.md", "*.rs", "*.py", "*.pyi", "*.toml", "*.yml"):
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", file.read_text(encoding="utf-8")):
            assert (ROOT / page).exists(), f"{file}: {page}"


def test_every_exception_is_on_the_page_of_errors():
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    kinds = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.HippocreneError)
    ]
    for name in kinds:
        assert f"`{name}`" in page, name


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in BOOK]
    assert sorted(listed) == sorted(pages)


def test_the_page_of_the_command_line_has_the_help_texts():
    made = script("docs/reference/command_line.py")
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), (
        "run `python docs/reference/command_line.py`"
    )


def test_pictures_are_those_that_are_drawn():
    made = script("docs/pictures/draw.py")
    for name, draw in made.PICTURES.items():
        picture = ROOT / "docs" / "pictures" / f"{name}.svg"
        assert picture.read_text(encoding="utf-8") == draw().svg(), (
            "run `python docs/pictures/draw.py`"
        )
