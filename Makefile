# `make demo` and `make test` need only Rust >= 1.89 and Python >= 3.10 with its venv module.
# The benchmarks in bench/ are a separate workspace. One of their dependencies needs Rust >= 1.91.1.
# With an older version, `make test` leaves them out and prints a note.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(shell find crates python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml

WITH_BENCH := $(shell printf '1.91.1\n%s\n' "$$(rustc -V | cut -d' ' -f2)" | sort -CV && echo yes)
WORKSPACE := --locked --workspace
# The benchmarks share compiled crates with the main workspace.
BENCH := --locked --manifest-path bench/Cargo.toml --target-dir target

.PHONY: demo test lint test-rust test-python fmt docs bench-report clean

demo: .venv/demo .venv/wheel
	$(BIN)/python examples/demo/demo.py demo-run
	$(BIN)/python examples/trees/trees.py demo-run/tree
	$(BIN)/python examples/clustering/clustering.py demo-run/clusters

test: lint test-rust test-python

lint: .venv/test
	cargo fmt --all --check
	cargo fmt --manifest-path bench/Cargo.toml --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cargo clippy $(WORKSPACE) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(WORKSPACE) --no-deps
ifeq ($(WITH_BENCH),yes)
	cargo clippy $(BENCH) --all-targets -- -D warnings
else
	@echo "Rust is older than 1.91.1: the benchmarks are left out"
endif

test-rust:
	cargo test $(WORKSPACE)
ifeq ($(WITH_BENCH),yes)
	cargo test $(BENCH)
endif

test-python: .venv/test .venv/wheel
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest hippocrene --ignore-missing-stub
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

fmt: .venv/test
	cargo fmt --all
	cargo fmt --manifest-path bench/Cargo.toml
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The book, as a site in the folder `site`. A warning is an error.
docs: .venv/docs
	$(BIN)/zensical build --strict

# Results of benchmarks as one page, bench-report.html. TABLES="boot-15 pegasus-6" chooses the tables.
bench-report:
	$(PYTHON) bench/report.py $(TABLES)

# The steps that make the virtual environment. Each one creates or updates a file when it is done.
.venv/made:
	$(PYTHON) -m venv .venv || { echo "$(PYTHON) could not make a virtual environment (on Debian: apt install python3-venv)"; exit 1; }
	$(PIP) 'maturin>=1.9.4,<2' 'numpy>=1.24'
	@touch $@

.venv/wheel: .venv/made $(SOURCES)
	@rm -rf .venv/wheels
	$(BIN)/maturin build --release --out .venv/wheels
	$(PIP) --no-deps --force-reinstall .venv/wheels/hippocrene-*.whl
	@touch $@

.venv/demo: .venv/made
	$(PIP) 'scikit-learn>=1.3' 'rich>=13'
	@touch $@

.venv/test: .venv/demo Makefile
	$(PIP) 'distributed>=2024.1' 'hypothesis>=6.100' 'matplotlib>=3.8' 'mpmath>=1.3' 'mypy>=1.10' 'pandas>=2.1' 'pytest>=8' 'pytest-xdist>=3.5' 'ruff>=0.6'
	@touch $@

.venv/docs: .venv/made Makefile
	$(PIP) 'zensical>=0.0.73,<0.1' 'mkdocstrings-python>=2,<3' 'ruff>=0.6'
	@touch $@

clean:
	rm -rf .venv target demo-run site .cache bench-report.html
